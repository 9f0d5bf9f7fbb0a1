/**
 * Colours on light and dark. Those that people who see no red or no green take for the same hue differ in lightness, and
 * so do many on grey paper.
 */
const SERIES = ['#0550ae', '#e16f24', '#a475f9', '#116329', '#e85aad', '#633c01'];
const SERIES_DARK = ['#79c0ff', '#db6d28', '#a371f7', '#56d364', '#db61a2', '#f8e3a1'];
/** The dashes of each colour's lines, so that lines differ without any colour. */
const DASHES = ['none', '7 3', '2 3', '12 3 2 3', '14 5', '7 3 2 3 2 3'];

/** How many series can have a colour of their own. */
export const SERIES_COLOURS = SERIES.length;

/** @param withColour the declarations that give a property the colour of a place */
function plotStyle(withColour: (property: string, place: number) => string): string {
  return [
    '.plot text{font:12px system-ui,sans-serif;fill:currentColor}',
    '.plot .axis{stroke:currentColor;stroke-opacity:.5}',
    '.plot .grid{stroke:currentColor;stroke-opacity:.15}',
    '.plot .note{stroke:currentColor;stroke-opacity:.4;stroke-dasharray:3 3}',
    '.plot .line{fill:none;stroke-width:2;stroke-linejoin:round}',
    '.plot .thin{stroke-width:1}',
    '.plot .area{fill-opacity:.75;stroke:none}',
    '.plot .range{stroke:currentColor;stroke-width:1.5}',
    ...DASHES.map((dashes, place) => {
      const filled = ['area', 'heat', 'dot'].map((shape) => `.plot .${shape}.s${place}`).join(',');
      return `.plot .line.s${place}{${withColour('stroke', place)};stroke-dasharray:${dashes}}${filled}{${withColour('fill', place)}}`;
    }),
  ].join('\n');
}

/** A part of a page's style. Browsers that do not know `light-dark()` show a light page. */
export const PLOT_STYLE = plotStyle((property, place) => {
  const light = SERIES[place]!;
  return `${property}:${light};${property}:light-dark(${light},${SERIES_DARK[place]!})`;
});

/**
 * The style of a picture that stands alone. It has a light background of its own, because its surroundings may be dark.
 * Not every program that shows SVG knows `light-dark()`.
 */
export const STANDALONE_STYLE = `svg{color:#1f2328}${plotStyle((property, place) => `${property}:${SERIES[place]!}`)}`;
