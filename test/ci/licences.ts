/**
 * Which licences the packages that Carillon runs with may have. Also checks that docs/licences.md lists the packages
 * that package.json names.
 */

/**
 * Permissive licences, and two with a further condition: MPL-2.0 requires the source of files that we would change,
 * CC-BY-4.0 the name of the author of data. We change neither, and distribute the packages unchanged.
 */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC-BY-4.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'MPL-2.0',
  'Python-2.0',
  'Unlicense',
]);

/** Packages that state their licence only in a file. */
const NAMED_ELSEWHERE: Readonly<Record<string, string>> = { unionfs: 'Unlicense' };

/** The parts of a `package.json` that state a licence. Old packages have `licenses`, or a URL after the name. */
export interface LicensedPackage {
  name: string;
  license?: unknown;
  licenses?: unknown;
}

/** The parts of a `package-lock.json` that are read. */
export interface Lock {
  packages: Readonly<Record<string, { dev?: boolean; license?: string }>>;
}

function licenceOf({ name, license, licenses }: LicensedPackage): string | null {
  const old: unknown = Array.isArray(licenses) ? licenses[0] : null;
  for (const given of [license, old]) {
    const text: unknown = typeof given === 'object' && given !== null && 'type' in given ? given.type : given;
    if (typeof text === 'string') return text.replace(/ \(https?:.*\)$/, '');
  }
  return NAMED_ELSEWHERE[name] ?? null;
}

/** @param expression of SPDX, such as `Apache-2.0 AND MIT`; AND binds more tightly than OR */
function isAllowed(expression: string): boolean {
  const alternatives = expression.replaceAll(/[()]/g, '').split(' OR ');
  return alternatives.some((alternative) => alternative.split(' AND ').every((name) => ALLOWED.has(name)));
}

/** The licences of the packages in the first column of the page's table. */
function listedIn(page: string): Map<string, string> {
  const rows = page.matchAll(/^\| `([^`]+)` +\| ([^|]+?) +\|/gm);
  return new Map([...rows].map(([, name = '', licence = '']) => [name, licence]));
}

/**
 * @param page the text of docs/licences.md
 * @param dependencies the names of the runtime packages in `package.json`
 * @param readPackage reads the `package.json` in a folder such as `node_modules/koa`; null if it is not installed
 * @returns what is wrong: a package that the page lacks, lists needlessly or with another licence, or whose licence is
 *   not allowed
 */
export function findLicenceFaults(
  page: string,
  dependencies: readonly string[],
  lock: Lock,
  readPackage: (folder: string) => LicensedPackage | null,
): string[] {
  const faults: string[] = [];
  const listed = listedIn(page);
  const licences = new Map<string, string | null>();
  for (const [folder, { dev = false, license }] of Object.entries(lock.packages)) {
    if (folder === '' || dev) continue;
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    // Packages for other platforms are not installed. The lock file states their licence.
    const licence = licenceOf(readPackage(folder) ?? { name, license });
    if (folder === `node_modules/${name}`) licences.set(name, licence);
    if (licence === null) faults.push(`${folder} names no licence.`);
    else if (!isAllowed(licence)) faults.push(`${folder} has the licence ${licence}, which is not allowed.`);
  }
  for (const name of dependencies) {
    const licence = licences.get(name);
    if (!listed.has(name)) faults.push(`docs/licences.md: ${name} is missing.`);
    else if (licence && listed.get(name) !== licence) {
      faults.push(`docs/licences.md: ${name} has the licence ${licence}, not ${listed.get(name)}.`);
    }
  }
  const unneeded = [...listed.keys()].filter((name) => !dependencies.includes(name));
  return [...faults, ...unneeded.map((name) => `docs/licences.md: ${name} is not a dependency.`)];
}
