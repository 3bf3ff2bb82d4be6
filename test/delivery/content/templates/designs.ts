/** Thirty designs, from one line to a newsletter. */
import type { BrandParts, ContentSource } from '../../../../src/delivery/content/templates/content.ts';
import { brand, withDesign } from './sources.ts';

const text = (html: string, styles?: object) => ({
  type: 'text',
  props: { html },
  ...(styles && { styles }),
});
const image = (name: string, more: object = {}) => ({
  type: 'image',
  props: { src: `https://cdn.acme.example/${name}.png`, alt: name, ...more },
});
const button = (label: string, href = 'https://acme.example/go', styles?: object) => ({
  type: 'button',
  props: { label, href },
  ...(styles && { styles }),
});
const header = { type: 'header', props: {} };
const divider = { type: 'divider', props: {} };
const spacer = (height: number) => ({ type: 'spacer', props: { height } });
const html = (source: string) => ({ type: 'html', props: { html: source } });
const social = (links?: object[]) => ({ type: 'social', props: links ? { links } : {} });
const columns = (...parts: object[][]) => ({
  type: 'columns',
  props: { columns: parts.map((sections) => ({ sections })) },
});
const lorem =
  'We looked at what our customers do on a rainy day, and found that most of them read. So here is a list of books.';

const sections: Record<
  string,
  { sections: object[]; theme?: object; brand?: Partial<BrandParts>; marketing?: true }
> = {
  'one line': { sections: [text('<p>Hello {{ contact.first_name | default: "there" }}</p>')] },
  welcome: {
    sections: [header, text(`<h1>Welcome, {{ contact.first_name }}</h1><p>${lorem}</p>`), button('Begin')],
    marketing: true,
  },
  newsletter: {
    sections: [
      header,
      image('hero', { href: 'https://acme.example/hero' }),
      text(`<h1>News of the month</h1><p>${lorem}</p>`),
      divider,
      columns(
        [image('one'), text('<h3>One</h3><p>Short.</p>')],
        [image('two'), text('<h3>Two</h3><p>Short.</p>')],
      ),
      spacer(30),
      button('Read all'),
      social(),
    ],
    marketing: true,
  },
  'order confirmation': {
    sections: [
      header,
      text('<h1>Thank you</h1><p>Order {{ order.number }} of {{ order.date | date: "%-d %B %Y" }}</p>'),
      html(
        '<table width="100%">{% for item in order.items %}<tr><td>{{ item.name }}</td><td align="right">{{ item.price }}</td></tr>{% endfor %}</table>',
      ),
      button('Show order', '{{ order.url }}'),
    ],
  },
  'password reset': { sections: [text('<p>Your code is <b>{{ code }}</b>.</p>', { align: 'center' })] },
  'two columns': { sections: [columns([text(lorem)], [text(lorem)])] },
  'three columns': { sections: [columns([image('a')], [image('b')], [image('c')])] },
  'four columns': { sections: [columns([text('1')], [text('2')], [text('3')], [text('4')])] },
  'uneven columns': { sections: [columns([image('a'), text(lorem), button('A')], [text('short')])] },
  'empty columns': { sections: [columns([], [])] },
  'dark theme': {
    sections: [header, text(`<h2>Night</h2><p>${lorem}</p>`), button('Dream')],
    theme: { bg_color: '#101418', text_color: '#e8e8e8', brand_color: '#ffcc00' },
    marketing: true,
  },
  'serif theme': {
    sections: [text(`<h1>Title</h1><p>${lorem}</p>`)],
    theme: { font_body: 'Georgia', font_heading: "'Times New Roman'" },
  },
  'short colors': {
    sections: [button('x')],
    theme: { brand_color: '#fff', bg_color: '#eee', text_color: '#111' },
  },
  'named colors': { sections: [button('x')], theme: { brand_color: 'teal' } },
  'section colors': {
    sections: [
      text('<p>On yellow</p>', { background_color: '#fff3c4', padding: '24px 12px' }),
      text('<p>On blue</p>', { background_color: '#d6e4ff', padding: '4' }),
    ],
  },
  alignments: {
    sections: [
      text('l', { align: 'left' }),
      text('c', { align: 'center' }),
      text('r', { align: 'right' }),
      button('r', 'https://acme.example/', { align: 'right' }),
    ],
  },
  'image with a link': { sections: [image('promo', { href: '{{ promo_url }}' })] },
  'image of a variable': {
    sections: [{ type: 'image', props: { src: '{{ picture }}', alt: '{{ title }}' } }],
  },
  buttons: {
    sections: [button('One'), button('Two & "three"'), button('Mail us', 'mailto:help@acme.example')],
  },
  dividers: { sections: [divider, spacer(1), divider, spacer(500), divider] },
  'social links': {
    sections: [
      social([
        { url: 'https://social.example/a', title: 'A' },
        { url: 'https://social.example/b', icon: 'https://cdn.acme.example/b.png', title: 'B' },
      ]),
    ],
  },
  'own footer': {
    sections: [
      text('x'),
      {
        type: 'footer',
        props: { html: '<p>{{ brand.physical_address }} <a href="{{ unsubscribe_url }}">Leave</a></p>' },
      },
    ],
    marketing: true,
  },
  'header and footer of the brand': {
    sections: [text('<p>Body</p>')],
    brand: {
      default_header: { type: 'header', props: { title: 'Acme Weekly' } },
      default_footer: { html: '<p>Sent with care</p>' },
      default_theme: { brand_color: '#00aa55', font_body: 'Tahoma' },
    },
    marketing: true,
  },
  'brand without anything': {
    sections: [header, text('<p>Plain</p>'), social()],
    brand: {
      company_name: null,
      logo: null,
      links: [],
      brand_color: null,
      text_color: null,
      bg_color: null,
      font_body: null,
      font_heading: null,
    },
  },
  'conditional sections': {
    sections: [
      html('{% if contact.data.vip %}'),
      text('<p>For you only</p>'),
      html('{% else %}'),
      text('<p>For all</p>'),
      html('{% endif %}'),
    ],
  },
  'right to left': { sections: [text('<p dir="rtl">שלום {{ contact.first_name }}</p>', { align: 'right' })] },
  'many languages': { sections: [text('<p>Grüße, 你好, こんにちは, 👋🏽</p>'), button('Weiter →')] },
  'own HTML': {
    sections: [
      html('<table role="presentation" width="600"><tr><td bgcolor="#eeeeee">Own</td></tr></table>'),
    ],
  },
  long: { sections: Array.from({ length: 40 }, (_, n) => text(`<h2>Part ${n + 1}</h2><p>${lorem}</p>`)) },
  receipt: {
    sections: [
      header,
      text('<h2>Receipt</h2>', { align: 'center' }),
      columns(
        [text('<p>{{ event.resource_name }}</p>')],
        [text('<p>{{ event.amount }} {{ currency }}</p>', { align: 'right' })],
      ),
      divider,
      text('<p>Paid on {{ event.created_at | date: "%F", "Europe/Berlin" }}</p>'),
    ],
  },
};

/** By name. */
export const designs: Record<string, ContentSource> = Object.fromEntries(
  Object.entries(sections).map(([name, { sections: list, theme = {}, brand: parts = {}, marketing }]) => [
    name,
    withDesign(
      { sections: list, theme },
      {
        brand: { ...brand, ...parts },
        footer: marketing ? 'marketing' : 'none',
        preheader: 'What is inside',
      },
    ),
  ]),
);
