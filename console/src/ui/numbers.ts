/** Numbers as people read them. */

const whole = new Intl.NumberFormat();
export const countText = (count: number): string => whole.format(count);
const shares = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
export const shareText = (part: number, of: number): string => (of > 0 ? shares.format(part / of) : '–');

/** @param cents in the currency of the installation */
export const centsText = (cents: number, currency?: string): string =>
  new Intl.NumberFormat(
    undefined,
    currency ? { style: 'currency', currency } : { minimumFractionDigits: 2 },
  ).format(cents / 100);

const KILO = 1024;
const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const;

/** A size in the largest unit that leaves at least one: a megabyte has 1,048,576 bytes, as in the limits of files. */
export function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1 ? 0 : Math.floor(Math.log(bytes) / Math.log(KILO)));
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit: UNITS[power] ?? 'byte',
    unitDisplay: power === 0 ? 'long' : 'short',
    maximumFractionDigits: power === 0 ? 0 : 1,
  }).format(bytes / KILO ** power);
}
