import { InvalidArgumentError } from 'commander';

// Parsers of command line values. Commander prints the message of an InvalidArgumentError.

/** Parses an id: a whole number from 1. */
export function id(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 1 or more.');
  return Number(text);
}

/** Parses a whole number, 0 or more. */
export function amount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  return Number(text);
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

/** Parses text that is not empty. */
export function words(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new InvalidArgumentError('It must not be empty.');
  return trimmed;
}

/** Parses names separated by commas. */
export function nameList(text: string): string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.includes('')) throw new InvalidArgumentError('It must be names, separated by commas.');
  return names;
}

/** Parses a number in each minute: `off` is 0, `default` is null. */
export function pace(text: string): number | null {
  if (text === 'default') return null;
  return text === 'off' ? 0 : id(text);
}
