/** The pattern of LIKE that matches a text literally. */
export const literalPattern = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** The pattern of LIKE that matches the beginning of a text. */
export const prefixPattern = (text: string): string => `${literalPattern(text)}%`;
