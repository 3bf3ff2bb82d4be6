// Every package that Carillon runs with has an allowed licence, and docs/licences.md lists those that package.json names.
import { describe, expect, it } from '@jest/globals';
import { findLicenceFaults, type LicensedPackage, type Lock, packagesIn } from './licences.ts';

const PAGE = `
| package | licence | why    |
| ------- | ------- | ------ |
| \`koa\`   | MIT     | serves |
`;

type Given = Omit<LicensedPackage, 'name'> & { dev?: boolean; installed?: false; needs?: string[] };

/** Checks a project that has `koa` and some other packages. */
function faultsOf(
  packages: Record<string, Given>,
  { page = PAGE, dependencies = ['koa'], bundled = [] as string[] } = {},
): string[] {
  const all: Record<string, Given> = { koa: { license: 'MIT' }, ...packages };
  const lock: Lock = { packages: { '': {}, ...lockedOf(all) } };
  return findLicenceFaults(page, { dependencies, bundled }, lock, (folder) => {
    const name = folder.replace(/^.*node_modules[/]/, '');
    return all[name]?.installed === false ? null : { name, ...all[name] };
  });
}

/** The packages in the form of the lock file, which leaves out licences that are not text. */
function lockedOf(packages: Record<string, Given>): Lock['packages'] {
  const entries = Object.entries(packages).map(([name, { license, dev = false, needs = [] }]) => {
    const dependencies = Object.fromEntries(needs.map((needed) => [needed, '1.0.0']));
    return [
      `node_modules/${name}`,
      typeof license === 'string' ? { dev, license, dependencies } : { dev, dependencies },
    ];
  });
  return Object.fromEntries(entries) as Lock['packages'];
}

describe('the check of licences', () => {
  it('accepts packages that are listed and have an allowed licence', () => {
    expect(faultsOf({})).toEqual([]);
  });

  it('rejects the licence of a package that another one brings', () => {
    expect(faultsOf({ left: { license: 'GPL-3.0' } })).toEqual([
      'node_modules/left has the licence GPL-3.0, which is not allowed.',
    ]);
  });

  it('rejects a package without a licence', () => {
    expect(faultsOf({ left: {} })).toEqual(['node_modules/left names no licence.']);
  });

  it('does not ask for the licences of packages for development', () => {
    expect(faultsOf({ left: { license: 'GPL-3.0', dev: true } })).toEqual([]);
  });

  it('takes the licence of a package for another platform from the lock file', () => {
    expect(faultsOf({ left: { license: 'GPL-3.0', installed: false } })).toHaveLength(1);
    expect(faultsOf({ left: { license: 'MIT', installed: false } })).toEqual([]);
  });

  it.each(['MIT OR GPL-3.0', '(GPL-3.0 OR Apache-2.0)', 'Apache-2.0 AND MIT', 'MIT (http://mootools.net)'])(
    'accepts %s',
    (license) => expect(faultsOf({ left: { license } })).toEqual([]),
  );

  it('rejects two licences that apply together unless both are allowed', () => {
    expect(faultsOf({ left: { license: 'MIT AND GPL-3.0' } })).toHaveLength(1);
  });

  it('reads the older forms of the field', () => {
    expect(faultsOf({ left: { license: { type: 'MIT' } } })).toEqual([]);
    expect(faultsOf({ left: { licenses: [{ type: 'GPL-3.0', url: 'x' }] } })).toHaveLength(1);
  });

  it('reports a dependency that the page does not list', () => {
    expect(faultsOf({ pg: { license: 'MIT' } }, { dependencies: ['koa', 'pg'] })).toEqual([
      'docs/licences.md: pg is missing.',
    ]);
  });

  it('reports a page that lists a package that is not a dependency, or a wrong licence', () => {
    expect(faultsOf({}, { dependencies: [] })).toEqual(['docs/licences.md: koa is not a dependency.']);
    expect(faultsOf({}, { page: PAGE.replace('MIT', 'ISC') })).toEqual([
      'docs/licences.md: koa has the licence MIT, not ISC.',
    ]);
  });

  it('asks for the licences of packages for development whose code is in the console, and of what they need', () => {
    const page = `${PAGE}| \`react\` | MIT | shows |\n`;
    const packages = {
      react: { license: 'MIT', dev: true, needs: ['left'] },
      left: { license: 'GPL-3.0', dev: true },
    };
    expect(faultsOf(packages, { page, bundled: ['react'] })).toEqual([
      'node_modules/left has the licence GPL-3.0, which is not allowed.',
    ]);
    expect(faultsOf(packages, { bundled: ['react'] })).toContain('docs/licences.md: react is missing.');
  });

  it('finds the packages that a source file brings into the bundle', () => {
    const source = `
import type { Types } from 'only-types';
import { useState } from 'react';
import {
  Dialog,
} from '@radix-ui/dialog/parts';
import 'uplot/dist/uPlot.min.css';
import { own } from './own.ts';
const later = import('cmdk');
`;
    expect(packagesIn(source)).toEqual(['react', '@radix-ui/dialog', 'uplot', 'cmdk']);
  });
});
