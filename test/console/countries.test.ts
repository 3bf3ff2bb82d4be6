// Countries are found by name or code, and the list has every country that the service knows.
import { expect, it } from '@jest/globals';
import { codeOfCountry, codeOfName, COUNTRIES, countryName } from '../../console/src/ui/countries.ts';
import { countryZones } from '../../src/delivery/terms/addresses/country-zones.ts';

it('lists every country of the service, each with a name of its own', () => {
  const codes = new Set(COUNTRIES.map(({ code }) => code));
  expect([...countryZones.keys()].filter((code) => !codes.has(code))).toEqual([]);
  expect(COUNTRIES.filter(({ code, name }) => code === name)).toEqual([]);
  expect(COUNTRIES.map(({ name }) => codeOfName(name))).toEqual(COUNTRIES.map(({ code }) => code));
});

it.each([
  ['Germany', 'DE'],
  ['  united STATES ', 'US'],
  ['Curacao', 'CW'],
  ['Cote d Ivoire', null],
  ["Cote d'Ivoire", 'CI'],
  ['de', 'DE'],
  ['XK', 'XK'],
  ['Germ', null],
  ['', null],
])('reads %j as %j', (text, code) => {
  expect(codeOfCountry(text)).toBe(code);
});

it('shows a text that is no code as it is', () => {
  expect([countryName('DE'), countryName('QX'), countryName('Deutschland'), countryName('')]).toEqual([
    'Germany',
    'QX',
    'Deutschland',
    '',
  ]);
});
