/** Designs that a letter can begin with. */
import type { PlainSection, Section } from './content.ts';
import { designOf, newSection } from './sections.ts';

interface Starter {
  name: string;
  hint: string;
  /** New sections at each call, because a section is recognized by its identity. */
  sections: () => Section[];
}

const text = (html: string, align: 'left' | 'center' = 'left'): PlainSection => ({
  type: 'text',
  props: { html },
  ...(align === 'center' ? { styles: { align } } : {}),
});

/** The check warns of a button without a link, so that an example is not overlooked. */
const button = (label: string): PlainSection => ({ type: 'button', props: { label, href: '' } });

const columns = (...parts: PlainSection[][]): Section => ({
  type: 'columns',
  props: { columns: parts.map((sections) => ({ sections })) },
});

const GREETING = '<p>Hello {{ contact.first_name | default: "there" }},</p>';

export const STARTERS: readonly Starter[] = [
  { name: 'Blank', hint: 'The header, and a text', sections: () => designOf('') },
  {
    name: 'Plain letter',
    hint: 'As one person writes to another',
    sections: () => [
      text(`${GREETING}<p>Write what it is about.</p><p>Best regards,<br>{{ brand.company_name }}</p>`),
    ],
  },
  {
    name: 'Announcement',
    hint: 'One piece of news, one button',
    sections: () => [
      newSection('header'),
      text('<h1>What is new</h1><p>Say in two sentences why it matters to your readers.</p>', 'center'),
      button('Read more'),
    ],
  },
  {
    name: 'Newsletter',
    hint: 'Several stories, two of them side by side',
    sections: () => [
      newSection('header'),
      text(`<h1>News of the month</h1>${GREETING}<p>Introduce the stories below.</p>`),
      button('Read the first story'),
      newSection('divider'),
      columns(
        [text('<h3>Second story</h3><p>One sentence about it.</p>'), button('Read it')],
        [text('<h3>Third story</h3><p>One sentence about it.</p>'), button('Read it')],
      ),
      newSection('divider'),
      newSection('social'),
    ],
  },
  {
    name: 'Offer',
    hint: 'A discount, and when it ends',
    sections: () => [
      newSection('header'),
      text('<h1>20 % off</h1><p>Say what the offer is, and who it is for.</p>', 'center'),
      button('Shop now'),
      text('<p>The offer ends on Sunday.</p>', 'center'),
    ],
  },
  {
    name: 'Invitation',
    hint: 'An event with its time and place',
    sections: () => [
      newSection('header'),
      text(`<h1>You are invited</h1>${GREETING}<p>Say what will happen, and who will be there.</p>`),
      columns([text('<h3>When</h3><p>Day and time</p>')], [text('<h3>Where</h3><p>Place, or link</p>')]),
      button('I’ll be there'),
    ],
  },
];
