/** Colours that differ on light and dark, also for people who cannot tell red from green. */
const SERIES = ['#0969da', '#bc4c00', '#8250df', '#1a7f37', '#bf3989', '#7d6400'];
const SERIES_DARK = ['#58a6ff', '#f0883e', '#bc8cff', '#3fb950', '#ff7bc0', '#d4a72c'];

/** How many series can have a colour of their own. */
export const SERIES_COLOURS = SERIES.length;

/** A part of a page's style. Plots on a page take its colours. */
export const PLOT_STYLE = [
  '.plot text{font:12px system-ui,sans-serif;fill:currentColor}',
  '.plot .axis{stroke:currentColor;stroke-opacity:.5}',
  '.plot .grid{stroke:currentColor;stroke-opacity:.15}',
  '.plot .note{stroke:currentColor;stroke-opacity:.4;stroke-dasharray:3 3}',
  '.plot .line{fill:none;stroke-width:2;stroke-linejoin:round}',
  '.plot .area{fill-opacity:.75;stroke:none}',
  '.plot .range{stroke:currentColor;stroke-width:1.5}',
  ...SERIES.map((colour, i) => {
    const both = `light-dark(${colour},${SERIES_DARK[i]!})`;
    return `.plot .line.s${i}{stroke:${both}}.plot .area.s${i},.plot .heat.s${i}{fill:${both}}`;
  }),
].join('\n');

/**
 * The style of a picture that stands alone. It has a light background of its own, because its surroundings may be dark.
 */
export const STANDALONE_STYLE = `svg{color-scheme:light;color:#1f2328}${PLOT_STYLE}`;
