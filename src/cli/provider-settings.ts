import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import type { ProviderKind } from '../delivery/wire/adapters/kind.ts';
import type { ProviderSettings } from '../delivery/wire/providers/named.ts';
import { AppError } from '../errors.ts';
import type { CarillonCommand } from './command.ts';

const MAX_SECRET_BYTES = 65_536;

/** As given with `--set`. */
export type SettingText = [name: string, value: string];

/** Parses `--set name=value`. */
export function setting(given: string, before: SettingText[] = []): SettingText[] {
  const [, name, value] = /^([a-z][a-z0-9_]*)=(.*)$/s.exec(given) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be name=value, name=@file or name=-.');
  }
  return [...before, [name, value]];
}

/** Reads the values of settings. Files and standard input keep secrets out of the list of processes. */
export async function readSettings(
  { io }: CarillonCommand,
  given: readonly SettingText[],
): Promise<ProviderSettings> {
  const settings: ProviderSettings = {};
  for (const [name, value] of given) settings[name] = await readSetting(name, value, io.stdin);
  return settings;
}

async function readSetting(name: string, value: string, stdin: NodeJS.ReadableStream): Promise<string> {
  if (value !== '-' && !value.startsWith('@')) return value;
  const content = value === '-' ? await text(stdin) : await readSecretFile(name, value.slice(1));
  if (content.length > MAX_SECRET_BYTES)
    throw problem(`${name} is longer than ${MAX_SECRET_BYTES} characters`);
  return content.trim();
}

async function readSecretFile(name: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw problem(`the file of ${name} cannot be read: ${(error as Error).message}`);
  }
}

export const problem = (message: string) => new AppError('validation_error', message);

/** Words errors with the names of the options, and lists the names of the settings. */
export async function inOptions<T>(kind: ProviderKind | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || Object.keys(error.validationErrors).length === 0) throw error;
    const lines = Object.entries(error.validationErrors).map(([field, messages]) => {
      const option = { kind: '--kind', name: 'the name', account: '--account' }[field] ?? `--set ${field}`;
      return `${option} ${messages.join(', ')}`;
    });
    const known = kind ? [`settings of ${kind.name}:`, ...settingLines(kind)] : [];
    throw problem([...lines, ...known].join('\n  '));
  }
}

/** The settings of a kind, with their schemas. */
export function shapeOf(
  kind: ProviderKind,
): [string, { description?: string; safeParse(value: unknown): { success: boolean } }][] {
  const { shape } = kind.settings as unknown as { shape?: Record<string, never> };
  return Object.entries(shape ?? {});
}

/** The settings of a kind as text, one per line. */
export function settingLines(kind: ProviderKind): string[] {
  return shapeOf(kind).map(([name, field]) => {
    const optional = field.safeParse(undefined).success ? ' (optional)' : '';
    return `${name}${optional}  ${field.description ?? ''}`.trimEnd();
  });
}
