/**
 * Which licences the packages that Carillon runs with, or whose code is in the console, may have. Also checks that
 * docs/licences.md lists the packages that package.json and the console name.
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
  packages: Readonly<
    Record<string, { dev?: boolean; license?: string; dependencies?: Readonly<Record<string, string>> }>
  >;
}

/** The packages that package.json and the code name. */
export interface NamedPackages {
  /** The runtime packages in `package.json`. */
  dependencies: readonly string[];
  /** The packages that the console imports. They are for development, but their code is in the bundle. */
  bundled: readonly string[];
}

const IMPORT = /(?:^|;|\n)\s*(?:import|export)\s+(?!type\b)(?:[^'"();]*?\sfrom\s+)?['"]([^'"]+)['"]/g;
const DYNAMIC_IMPORT = /\bimport\(\s*['"]([^'"]+)['"]/g;

/** Returns the names of the packages whose code a source file imports. */
export function packagesIn(source: string): string[] {
  const specifiers = [IMPORT, DYNAMIC_IMPORT].flatMap((pattern) =>
    [...source.matchAll(pattern)].map(([, name = '']) => name),
  );
  const ofPackages = specifiers.filter((specifier) => /^[@a-z]/.test(specifier));
  return ofPackages.map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
}

/** Finds a package as Node.js does: in the folder that asks, then in those above it. */
function folderOf(name: string, asking: string, { packages }: Lock): string | null {
  for (let from = asking; ; from = from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/')))) {
    const folder = `${from === '' ? '' : `${from}/`}node_modules/${name}`;
    if (packages[folder]) return folder;
    if (from === '') return null;
  }
}

/** Returns the folders of packages and of everything that they depend on. */
function withDependencies(names: readonly string[], lock: Lock): Set<string> {
  const found = new Set<string>();
  const add = (name: string, asking: string): void => {
    const folder = folderOf(name, asking, lock);
    if (folder === null || found.has(folder)) return;
    found.add(folder);
    for (const next of Object.keys(lock.packages[folder]?.dependencies ?? {})) add(next, folder);
  };
  for (const name of names) add(name, '');
  return found;
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
 * @param readPackage reads the `package.json` in a folder such as `node_modules/koa`; null if it is not installed
 * @returns what is wrong: a package that the page lacks, lists needlessly or with another licence, or whose licence is
 *   not allowed
 */
export function findLicenceFaults(
  page: string,
  { dependencies, bundled }: NamedPackages,
  lock: Lock,
  readPackage: (folder: string) => LicensedPackage | null,
): string[] {
  const faults: string[] = [];
  const listed = listedIn(page);
  const licences = new Map<string, string | null>();
  const inBundle = withDependencies(bundled, lock);
  for (const [folder, { dev = false, license }] of Object.entries(lock.packages)) {
    if (folder === '' || (dev && !inBundle.has(folder))) continue;
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    // Packages for other platforms are not installed. The lock file states their licence.
    const licence = licenceOf(readPackage(folder) ?? { name, license });
    if (folder === `node_modules/${name}`) licences.set(name, licence);
    if (licence === null) faults.push(`${folder} names no licence.`);
    else if (!isAllowed(licence)) faults.push(`${folder} has the licence ${licence}, which is not allowed.`);
  }
  const named = [...dependencies, ...bundled];
  for (const name of named) {
    const licence = licences.get(name);
    if (!listed.has(name)) faults.push(`docs/licences.md: ${name} is missing.`);
    else if (licence && listed.get(name) !== licence) {
      faults.push(`docs/licences.md: ${name} has the licence ${licence}, not ${listed.get(name)}.`);
    }
  }
  const unneeded = [...listed.keys()].filter((name) => !named.includes(name));
  return [...faults, ...unneeded.map((name) => `docs/licences.md: ${name} is not a dependency.`)];
}
