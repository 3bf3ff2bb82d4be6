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
