/** Returns the SQL of a region. @param table of the code, from which it derives */
export type RegionSql<Table> = (table: Table) => string;

/** The regions of a `.sql` file, by the name in their markers: `-- <limits>` and `-- </limits>`. */
export type Regions<Table> = Readonly<Record<string, RegionSql<Table>>>;

const MARKED = /^([ ]*)-- <(\w+)>\n([^]*?)^[ ]*-- <\/\2>$/gm;
const MARKER = /^[ ]*-- <\/?\w+>$/gm;

/** The names of the regions in the text, in their order. A region may be there several times. */
export const regionNames = (source: string): string[] =>
  [...source.matchAll(MARKED)].map(([, , name = '']) => name);

/** Indents lines as their marker, without changing how they are indented among themselves. */
function indented(text: string, indent: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const least = Math.min(...lines.map((line) => line.length - line.trimStart().length));
  return lines.map((line) => `${indent}${line.slice(least)}\n`).join('');
}

/**
 * Replaces what is between the markers.
 * @param sql returns the lines of a region by its name
 * @throws Error if a marker has no counterpart, or if regions overlap
 */
export function fillRegions(source: string, sql: (name: string) => string): string {
  if ((source.match(MARKER)?.length ?? 0) !== 2 * regionNames(source).length) {
    throw new Error('each region begins with -- <name> and ends with -- </name>, each on its own line');
  }
  return source.replaceAll(
    MARKED,
    (_marked, indent: string, name: string) =>
      `${indent}-- <${name}>\n${indented(sql(name), indent)}${indent}-- </${name}>`,
  );
}
