/** Turns a design into a tree of MJML nodes, so that an author's text is never parsed as MJML. */
import type { BrandParts } from './content.ts';
import { type Design, designSchema, type DesignSection, type PlainSection } from './design.ts';
import type { Look } from './theme.ts';
import { escapeValue } from './values.ts';

/** An element of MJML. `content` is HTML. */
export interface MjmlNode {
  tagName: string;
  attributes: Record<string, string>;
  children?: MjmlNode[];
  content?: string;
}

const WIDTH = '600px';

const node = (tagName: string, attributes: Record<string, string>, children: MjmlNode[] = []): MjmlNode => ({
  tagName,
  attributes,
  children,
});
const leaf = (tagName: string, attributes: Record<string, string>, content = ''): MjmlNode => ({
  tagName,
  attributes,
  content,
});

/** The attributes of an element, without undefined ones, and with texts escaped. */
function attributes(given: Record<string, string | undefined>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) found[name] = escapeValue(value);
  return found;
}

const withUnits = (padding: string | undefined) => padding?.replace(/(\d+)(px)?/g, '$1px');

type Section<Type extends DesignSection['type']> = Extract<DesignSection, { type: Type }>;

function header({ props, styles = {} }: Section<'header'>, look: Look, brand: BrandParts): MjmlNode[] {
  const logo = props.logo_url || look.logo;
  const title = props.title || (logo ? '' : (brand.company_name ?? ''));
  const align = styles.align ?? 'center';
  const nodes: MjmlNode[] = [];
  if (logo) {
    const alt = props.title || brand.company_name || '';
    nodes.push(leaf('mj-image', attributes({ src: logo, alt, align, width: '160px' })));
  }
  if (title) {
    const font = { 'font-family': look.fontHeading, 'font-size': '24px', 'font-weight': 'bold' };
    nodes.push(leaf('mj-text', attributes({ ...font, 'line-height': '1.25', align }), escapeValue(title)));
  }
  return nodes;
}

function social({ props, styles = {} }: Section<'social'>, brand: BrandParts): MjmlNode[] {
  const links = (props.links ?? brand.links).map(({ url, icon = '', title = '' }) => {
    const name = title || icon || url;
    const isImage = /^https?:\/\//i.test(icon);
    const label = isImage
      ? `<img src="${escapeValue(icon)}" alt="${escapeValue(name)}" width="24" height="24" style="border:0;display:inline">`
      : escapeValue(name);
    return `<a href="${escapeValue(url)}" style="color:inherit">${label}</a>`;
  });
  if (links.length === 0) return [];
  return [leaf('mj-text', attributes({ align: styles.align ?? 'center' }), links.join(' &nbsp; '))];
}

function footer({ props, styles = {} }: Section<'footer'>): MjmlNode[] {
  if (!props.html) return [];
  return [leaf('mj-text', attributes({ align: styles.align ?? 'center', 'font-size': '12px' }), props.html)];
}

/** The elements of a section's column. */
function elements(section: PlainSection, look: Look, brand: BrandParts): MjmlNode[] {
  const { align } = section.styles ?? {};
  switch (section.type) {
    case 'header':
      return header(section, look, brand);
    case 'text':
      return [leaf('mj-text', attributes({ align }), section.props.html)];
    case 'html':
      return [leaf('mj-text', attributes({ align, padding: '0' }), section.props.html)];
    case 'image': {
      const { src, alt = '', href } = section.props;
      return [leaf('mj-image', attributes({ src, alt, href: href || undefined, align }))];
    }
    case 'button': {
      const colors = { 'background-color': look.brandColor, color: look.onBrandColor };
      const label = escapeValue(section.props.label);
      return [leaf('mj-button', attributes({ ...colors, href: section.props.href, align }), label)];
    }
    case 'divider':
      return [leaf('mj-divider', attributes({ 'border-width': '1px', 'border-color': '#d0d0d0' }))];
    case 'spacer':
      return [leaf('mj-spacer', attributes({ height: `${section.props.height}px` }))];
    case 'social':
      return social(section, brand);
    case 'footer':
      return footer(section);
  }
}

function frame({ styles = {} }: DesignSection, columns: MjmlNode[]): MjmlNode {
  const { background_color: color } = styles;
  return node(
    'mj-section',
    attributes({ 'background-color': color, padding: withUnits(styles.padding) ?? '10px 0' }),
    columns,
  );
}

function sectionNodes(
  section: DesignSection,
  look: Look,
  brand: BrandParts,
  isBare: (html: string) => boolean,
): MjmlNode[] {
  if (section.type === 'columns') {
    const width = `${(100 / section.props.columns.length).toFixed(2)}%`;
    const columns = section.props.columns.map(({ sections }) =>
      node(
        'mj-column',
        { width },
        sections.flatMap((inner) => elements(inner, look, brand)),
      ),
    );
    return [frame(section, columns)];
  }
  // Liquid without surrounding HTML, such as a condition that spans sections.
  if (section.type === 'html' && isBare(section.props.html)) return [leaf('mj-raw', {}, section.props.html)];
  const found = elements(section, look, brand);
  return found.length === 0 ? [] : [frame(section, [node('mj-column', {}, found)])];
}

/**
 * The default header or footer of a brand, given as a section, as `sections`, or as the props of one. Any other value
 * gives no section.
 */
export function defaultSections(given: Record<string, unknown>, type: 'header' | 'footer'): DesignSection[] {
  if (Object.keys(given).length === 0) return [];
  const sections = Array.isArray(given['sections'])
    ? given['sections']
    : [typeof given['type'] === 'string' ? given : { type, props: given }];
  const parsed = designSchema.safeParse({ sections });
  return parsed.success ? parsed.data.sections : [];
}

/** The sections of a design. The brand's header and footer are added if it lacks them. */
export function allSections(design: Design, brand: BrandParts): DesignSection[] {
  const has = (type: string) => design.sections.some((section) => section.type === type);
  return [
    ...(has('header') ? [] : defaultSections(brand.default_header, 'header')),
    ...design.sections,
    ...(has('footer') ? [] : defaultSections(brand.default_footer, 'footer')),
  ];
}

function head(look: Look): MjmlNode {
  const css = `h1,h2,h3{font-family:${look.fontHeading};line-height:1.25;margin:0 0 12px}
p{margin:0 0 12px}
a{color:${look.brandColor}}`;
  return node('mj-head', {}, [
    node('mj-attributes', {}, [
      leaf('mj-all', { 'font-family': look.fontBody }),
      leaf('mj-text', { 'font-size': '16px', 'line-height': '1.5', color: look.text }),
      leaf('mj-button', { 'font-size': '16px', 'border-radius': '4px', 'inner-padding': '12px 24px' }),
    ]),
    leaf('mj-style', {}, css),
  ]);
}

/**
 * @param sections with placeholders instead of Liquid
 * @param isBare whether a text consists only of placeholders
 */
export function designToMjml(
  sections: readonly DesignSection[],
  look: Look,
  brand: BrandParts,
  isBare: (html: string) => boolean,
): MjmlNode {
  const body = sections.flatMap((section) => sectionNodes(section, look, brand, isBare));
  return node('mjml', {}, [
    head(look),
    node('mj-body', { 'background-color': look.background, width: WIDTH }, body),
  ]);
}
