/** What people choose from: the API knows each by an id or a word, people by a label. */
export interface Choice {
  value: string;
  label: string;
}

/** The lists, segments and campaigns of a brand, which the API names by their ids. */
export interface AudienceNames {
  lists: readonly Choice[];
  segments: readonly Choice[];
  campaigns: readonly Choice[];
}

/** Returns the label of a choice. @param fallback if there is no such choice, or it is not loaded */
export const labelOf = (choices: readonly Choice[], value: unknown, fallback = String(value)): string =>
  choices.find((choice) => choice.value === String(value))?.label ?? fallback;
