/** A mail of the service's own, as plain text; a paragraph may have several lines. */
export interface Letter {
  subject: string;
  paragraphs: string[];
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

function toHtml(paragraph: string): string {
  const escaped = paragraph.replace(/[&<>"]/g, (character) => entities[character] ?? character);
  return `<p>${escaped.replaceAll('\n', '<br>\n')}</p>`;
}

/** The two forms of a letter: they say the same. */
export function typeset({ paragraphs }: Letter): { html: string; text: string } {
  return { html: `${paragraphs.map(toHtml).join('\n')}\n`, text: `${paragraphs.join('\n\n')}\n` };
}
