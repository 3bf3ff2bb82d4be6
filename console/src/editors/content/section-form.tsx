import { lazy, Suspense } from 'react';
import { Button } from '../../ui/button.tsx';
import { Checkbox, Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { messagesAt } from './checked.ts';
import type { Section } from './content.ts';
import { ImageField } from './image-field.tsx';
import { useLetter } from './letter-context.ts';
import { LiquidInput } from './liquid-input.tsx';
import { fieldOf, MAX_COLUMNS, MAX_LINKS, MIN_COLUMNS, type SectionPath, withColumns } from './sections.ts';
import { StyleForm } from './style-form.tsx';

const TextField = lazy(async () => ({ default: (await import('./rich-text.tsx')).RichTextField }));

type Of<Type extends Section['type']> = Extract<Section, { type: Type }>;

interface FormProps<Type extends Section['type'] = Section['type']> {
  section: Of<Type>;
  path: SectionPath;
  onChange: (next: Section) => void;
}

/** What a section shows, and how. */
export function SectionForm(props: FormProps) {
  return (
    <div className="section-form stack">
      <PropsForm {...props} />
      <StyleForm {...props} />
    </div>
  );
}

function PropsForm({ section, ...rest }: FormProps) {
  switch (section.type) {
    case 'text':
    case 'footer':
      return <TextForm section={section} {...rest} />;
    case 'html':
      return <HtmlForm section={section} {...rest} />;
    case 'image':
      return <ImageForm section={section} {...rest} />;
    case 'button':
      return <ButtonForm section={section} {...rest} />;
    case 'header':
      return <HeaderForm section={section} {...rest} />;
    case 'spacer':
      return <SpacerForm section={section} {...rest} />;
    case 'social':
      return <SocialForm section={section} {...rest} />;
    case 'columns':
      return <ColumnsForm section={section} {...rest} />;
    case 'divider':
      return null;
  }
}

/** Returns what the API says about a prop. */
function useErrors(path: SectionPath) {
  const { problemsAt } = useLetter();
  return (name: string) => messagesAt(problemsAt(fieldOf(path)), `${fieldOf(path)}.props.${name}`);
}

function TextForm({ section, path, onChange }: FormProps<'text' | 'footer'>) {
  const { names } = useLetter();
  const errorsOf = useErrors(path);
  return (
    <Suspense fallback={<div className="loading">Loading…</div>}>
      <TextField
        label={section.type === 'text' ? 'Text' : 'Small text'}
        value={section.props.html ?? ''}
        names={names}
        error={errorsOf('html')}
        onChange={(html) => onChange({ ...section, props: { ...section.props, html } })}
      />
    </Suspense>
  );
}

function HtmlForm({ section, path, onChange }: FormProps<'html'>) {
  const errorsOf = useErrors(path);
  return (
    <Field
      label="HTML"
      hint="Or only Liquid, such as {% if contact.data.vip %}, with its {% endif %} in a later HTML section."
      error={errorsOf('html')}
    >
      <TextArea
        className="mono"
        rows={8}
        spellCheck={false}
        value={section.props.html}
        onChange={(event) => onChange({ ...section, props: { ...section.props, html: event.target.value } })}
      />
    </Field>
  );
}

/** An optional text is left out when it is cleared. */
const withText = <Props extends object>(props: Props, name: keyof Props & string, text: string): Props => {
  const { [name]: _, ...rest } = props;
  return (text === '' ? rest : { ...rest, [name]: text }) as Props;
};

function ImageForm({ section, path, onChange }: FormProps<'image'>) {
  const { names } = useLetter();
  const errorsOf = useErrors(path);
  const { props } = section;
  return (
    <>
      <ImageField
        label="Image"
        hint="A web address, or a PNG, JPEG, GIF or WebP file of at most 5 MB."
        value={props.src}
        error={errorsOf('src')}
        onChange={(src) => onChange({ ...section, props: { ...props, src } })}
      />
      <Field label="Description" hint="For readers who do not see images." error={errorsOf('alt')}>
        <TextInput
          value={props.alt ?? ''}
          onChange={(event) => onChange({ ...section, props: { ...props, alt: event.target.value } })}
        />
      </Field>
      <LiquidInput
        label="Link"
        names={names}
        value={props.href ?? ''}
        error={errorsOf('href')}
        onChange={(href) => onChange({ ...section, props: withText(props, 'href', href) })}
      />
    </>
  );
}

function ButtonForm({ section, path, onChange }: FormProps<'button'>) {
  const { names } = useLetter();
  const errorsOf = useErrors(path);
  const { props } = section;
  return (
    <>
      <LiquidInput
        label="Label"
        names={names}
        value={props.label}
        error={errorsOf('label')}
        onChange={(label) => onChange({ ...section, props: { ...props, label } })}
      />
      <LiquidInput
        label="Link"
        names={names}
        hint="A web address, mailto:, tel: or sms:."
        value={props.href}
        error={errorsOf('href')}
        onChange={(href) => onChange({ ...section, props: { ...props, href } })}
      />
    </>
  );
}

function HeaderForm({ section, path, onChange }: FormProps<'header'>) {
  const { names } = useLetter();
  const errorsOf = useErrors(path);
  const { props } = section;
  return (
    <>
      <ImageField
        label="Logo"
        hint="If it is empty, the logo of the theme or brand is shown."
        value={props.logo_url ?? ''}
        error={errorsOf('logo_url')}
        onChange={(url) => onChange({ ...section, props: withText(props, 'logo_url', url) })}
      />
      <LiquidInput
        label="Title"
        hint="Without a logo and a title, the name of the brand is shown."
        names={names}
        value={props.title ?? ''}
        error={errorsOf('title')}
        onChange={(title) => onChange({ ...section, props: withText(props, 'title', title) })}
      />
    </>
  );
}

function SpacerForm({ section, path, onChange }: FormProps<'spacer'>) {
  const errorsOf = useErrors(path);
  return (
    <Field label="Height in pixels" error={errorsOf('height')}>
      <TextInput
        type="number"
        min={1}
        max={500}
        value={section.props.height}
        onChange={(event) => {
          const height = event.target.valueAsNumber;
          if (Number.isInteger(height)) onChange({ ...section, props: { ...section.props, height } });
        }}
      />
    </Field>
  );
}

function ColumnsForm({ section, onChange }: FormProps<'columns'>) {
  const counts = Array.from({ length: MAX_COLUMNS - MIN_COLUMNS + 1 }, (_, at) => String(at + MIN_COLUMNS));
  return (
    <Field label="Number of columns" hint="On a small screen, they are stacked.">
      <Select
        options={counts}
        value={String(section.props.columns.length)}
        onChange={(event) => onChange(withColumns(section, Number(event.target.value)))}
      />
    </Field>
  );
}

function SocialForm({ section, path, onChange }: FormProps<'social'>) {
  const errorsOf = useErrors(path);
  const { links } = section.props;
  const set = (next: typeof links) => onChange({ ...section, props: next ? { links: next } : {} });
  return (
    <>
      <Checkbox
        label="Links of the brand"
        checked={links === undefined}
        onChange={(event) => set(event.target.checked ? undefined : [])}
      />
      {links?.map((link, index) => (
        // Only their positions distinguish links.
        <fieldset key={index} className="link-row">
          <legend>Link {index + 1}</legend>
          {(['url', 'title', 'icon'] as const).map((name) => (
            <Field
              key={name}
              label={{ url: 'Address', title: 'Title', icon: 'Icon, a text or an image address' }[name]}
              error={errorsOf(`links.${index}.${name}`)}
            >
              <TextInput
                value={link[name] ?? ''}
                onChange={(event) => {
                  const text = event.target.value;
                  const changed = name === 'url' ? { ...link, url: text } : withText(link, name, text);
                  set(links.with(index, changed));
                }}
              />
            </Field>
          ))}
          <Button kind="quiet" onClick={() => set(links.toSpliced(index, 1))}>
            Remove link {index + 1}
          </Button>
        </fieldset>
      ))}
      {links && links.length < MAX_LINKS && (
        <div>
          <Button onClick={() => set([...links, { url: '', title: '' }])}>Add a link</Button>
        </div>
      )}
    </>
  );
}
