export interface SliceName {
  readonly generateName: string;
  readonly name: string;
}

/** Where the API server cuts `generateName` before it appends its suffix. */
const BASE_LENGTH_MAX = 58;

/**
 * The name of a new slice, made as the API server makes it from `generateName` (docs/spec/endpointslice.md "Server
 * behaviour", "Names of new slices"). The name is drawn here, so that a create which is repeated after a lost reply
 * meets its own object.
 * @param owner the name of the Service, or of the Endpoints
 * @param suffix 5 characters
 */
export function newSliceName(owner: string, suffix: string): SliceName {
  const generateName = `${owner}-`;
  return { generateName, name: generateName.slice(0, BASE_LENGTH_MAX) + suffix };
}

/** Far more draws than are needed, unless the suffixes are not random. */
const DRAWS_MAX = 100;

/**
 * A name that is not taken.
 * @param suffix draws 5 characters
 * @throws Error when 100 names in turn are taken
 */
export function drawSliceName(owner: string, suffix: () => string, taken: (name: string) => boolean): SliceName {
  for (let i = 0; i < DRAWS_MAX; i++) {
    const name = newSliceName(owner, suffix());
    if (!taken(name.name)) return name;
  }
  throw new Error(`assertion failed: ${DRAWS_MAX} names drawn for a slice of ${owner} are all taken`);
}
