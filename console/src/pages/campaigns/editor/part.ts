/** The parts of the editor, and to which of them a field belongs. */

export const PARTS = {
  audience: 'Audience',
  letter: 'Letter',
  sending: 'Sending',
} as const;
export type PartName = keyof typeof PARTS;

const PREFIXES: readonly (readonly [string, PartName])[] = [
  ['trigger_attributes', 'audience'],
  ['template_attributes', 'letter'],
  ['data.options', 'sending'],
  ['scheduled_at', 'sending'],
];

/** @returns null if the field is not in the editor, such as one of the brand */
export const partOf = (field: string): PartName | null =>
  PREFIXES.find(([prefix]) => field === prefix || field.startsWith(`${prefix}.`))?.[1] ?? null;

export const idOfPart = (name: PartName): string => `part-${name}`;

/** Moves the focus to a part of the editor. */
export function goTo(name: PartName): void {
  document.getElementById(idOfPart(name))?.focus();
}
