import { Field, Select, TextInput } from '../../ui/field.tsx';
import { messagesAt } from './checked.ts';
import { ColorField } from './color-field.tsx';
import type { Section } from './content.ts';
import { useLetter } from './letter-context.ts';
import { fieldOf, type SectionPath } from './sections.ts';

type Styles = NonNullable<Section['styles']>;

const ALIGNMENTS = [
  { value: '', label: 'As usual' },
  { value: 'left', label: 'Left' },
  { value: 'center', label: 'Centered' },
  { value: 'right', label: 'Right' },
];

/** The styles of a section. Those that are not set are left out. */
export function StyleForm({
  section,
  path,
  onChange,
}: {
  section: Section;
  path: SectionPath;
  onChange: (next: Section) => void;
}) {
  const { problemsAt } = useLetter();
  const { styles = {} } = section;
  const errorsOf = (name: keyof Styles) =>
    messagesAt(problemsAt(fieldOf(path)), `${fieldOf(path)}.styles.${name}`);
  const set = (name: keyof Styles, text: string) => {
    const { [name]: _, ...others } = styles;
    const next = text === '' ? others : { ...others, [name]: text };
    const { styles: __, ...plain } = section;
    onChange(Object.keys(next).length > 0 ? { ...plain, styles: next } : plain);
  };
  return (
    <details className="section-style" open={Object.keys(styles).length > 0}>
      <summary>Style</summary>
      <div className="style-fields">
        <ColorField
          label="Background"
          value={styles.background_color ?? ''}
          error={errorsOf('background_color')}
          onChange={(text) => set('background_color', text)}
        />
        <Field label="Space around" hint="Such as 10px 25px." error={errorsOf('padding')}>
          <TextInput value={styles.padding ?? ''} onChange={(event) => set('padding', event.target.value)} />
        </Field>
        <Field label="Alignment" error={errorsOf('align')}>
          <Select
            options={ALIGNMENTS}
            value={styles.align ?? ''}
            onChange={(event) => set('align', event.target.value)}
          />
        </Field>
      </div>
    </details>
  );
}
