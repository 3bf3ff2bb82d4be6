/** The parts of the desk, and to which of them a field belongs. */

export const PLACES = {
  audience: 'Audience',
  letter: 'Letter',
  sending: 'Sending',
} as const;
export type PlaceName = keyof typeof PLACES;

const BEGINNINGS: readonly (readonly [string, PlaceName])[] = [
  ['trigger_attributes', 'audience'],
  ['template_attributes', 'letter'],
  ['data.options', 'sending'],
  ['scheduled_at', 'sending'],
];

/** @returns null if the field is not on the desk, such as one of the brand */
export const placeOf = (field: string): PlaceName | null =>
  BEGINNINGS.find(([beginning]) => field === beginning || field.startsWith(`${beginning}.`))?.[1] ?? null;

export const idOfPlace = (name: PlaceName): string => `desk-${name}`;

/** Leads the focus to a part of the desk. */
export function goTo(name: PlaceName): void {
  document.getElementById(idOfPlace(name))?.focus();
}
