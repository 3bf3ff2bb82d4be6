import { InvalidArgumentError } from 'commander';

/** A whole number from 1: an id. */
export function id(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

/** A whole number from 0. */
export function amount(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 0.');
  return Number(text);
}

/** A whole number from 0, or `default` for the service's own setting. */
export function amountOrDefault(text: string): number | 'default' {
  return text === 'default' ? text : amount(text);
}

/** An address as login takes it. */
export function email(text: string): string {
  const address = text.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) throw new InvalidArgumentError('It must be an email address.');
  return address;
}

/** Text that says something. */
export function words(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new InvalidArgumentError('It must not be empty.');
  return trimmed;
}
