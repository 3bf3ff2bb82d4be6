/** The content of an average campaign: 5 KB of HTML with a text part, a name, links and a footer. */
const HTML_BYTES = 5_000;
const SENTENCE = 'This week we have new things in the shop, and some that you asked for are back again. ';

const linkOf = (n: number) =>
  `<a href="https://shop.example.com/p/${n}?ref=mail&amp;list=${n}">Offer ${n}</a>`;

/** @param links number of web links */
export function campaignHtml(links: number): string {
  const head = '<!doctype html><html><head><meta charset="utf-8"><title>News</title></head><body>';
  const opening = `${head}<h1>Hello {{ contact.first_name }},</h1>`;
  const offers = Array.from({ length: links }, (_, n) => `<p>${SENTENCE}${linkOf(n)}</p>`).join('\n');
  const footer = '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p></body></html>';
  const filler = Math.max(0, HTML_BYTES - opening.length - offers.length - footer.length);
  const paragraphs = `<p>${SENTENCE.repeat(4)}</p>\n`;
  return opening + paragraphs.repeat(Math.ceil(filler / paragraphs.length)) + offers + footer;
}

export function campaignText(links: number): string {
  const offers = Array.from({ length: links }, (_, n) => `Offer ${n}: https://shop.example.com/p/${n}`);
  return `Hello {{ contact.first_name }},\n\n${SENTENCE.repeat(10)}\n\n${offers.join('\n')}\n\nUnsubscribe: {{ unsubscribe_url }}\n`;
}
