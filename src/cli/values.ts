import { InvalidArgumentError } from 'commander';
import { lookAlikeProblem } from '../delivery/terms/addresses/look-alike.ts';
import { capabilities, type Capability } from '../features/accounts/schema.ts';

// Parsers of command line values. Commander prints the message of an InvalidArgumentError.

/** Parses an id: a whole number from 1. */
export function id(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return Number(text);
}

/** Parses ids separated by commas. */
export function ids(text: string): number[] {
  return text.split(',').map((each) => id(each.trim()));
}

/** Parses a whole number, 0 or more. */
export function amount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  return Number(text);
}

/** Parses an amount of cents with up to three decimals, such as `0.125`. @returns millicents, which are whole */
export function millicents(text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text)) {
    throw new InvalidArgumentError('It must be cents, with at most three decimals.');
  }
  const [whole = '', decimals = ''] = text.split('.');
  return Number(whole) * 1_000 + Number(decimals.padEnd(3, '0'));
}

/** Parses an amount as {@link millicents} does, or `none`, which is null. */
export function millicentsOrNone(text: string): number | null {
  return text === 'none' ? null : millicents(text);
}

/** Parses an amount that is more than 0. */
export function positiveMillicents(text: string): number {
  const value = millicents(text);
  if (value === 0) throw new InvalidArgumentError('It must be more than 0.');
  return value;
}

/** Parses the two letters of a country. */
export function countryCode(text: string): string {
  if (!/^[A-Za-z]{2}$/.test(text)) throw new InvalidArgumentError('It must be two letters, such as DE.');
  return text.toUpperCase();
}

/** Parses a whole number, or `default` for the setting of the service. */
export function amountOrDefault(text: string): number | 'default' {
  return text === 'default' ? text : amount(text);
}

/** Parses an email address as loosely as login does. */
export function email(text: string): string {
  const address = text.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) throw new InvalidArgumentError('It must be an email address.');
  return address;
}

/** Parses the email address of a user to be created. */
export function userEmail(text: string): string {
  const address = email(text);
  const problem = lookAlikeProblem(address);
  if (problem !== null) throw new InvalidArgumentError(`It ${problem}.`);
  return address;
}

/** Parses text that is not empty. */
export function words(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new InvalidArgumentError('It must not be empty.');
  return trimmed;
}

/** Parses `name=on`, `name=off` or `name=default`, and adds it to those before. Names are those of capabilities. */
export function onOffDefault(
  text: string,
  before: Partial<Record<Capability, boolean | null>> = {},
): Partial<Record<Capability, boolean | null>> {
  const [name = '', state = ''] = text.split('=');
  const values: Partial<Record<string, boolean | null>> = { on: true, off: false, default: null };
  const known = capabilities.find((each) => each === name);
  const value = values[state];
  if (known === undefined) throw new InvalidArgumentError(`It must name one of ${capabilities.join(', ')}.`);
  if (value === undefined) throw new InvalidArgumentError('It must end with =on, =off or =default.');
  return { ...before, [known]: value };
}

/** Parses names separated by commas. */
export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('It must be names, separated by commas.');
  return names;
}

/** Parses a number per minute: `off` is 0, `default` is null. */
export function pace(text: string): number | null {
  if (text === 'default') return null;
  return text === 'off' ? 0 : id(text);
}
