import { useOwnBrand } from '../../api/brand.ts';
import { Field, TextInput } from '../../ui/field.tsx';
import { messagesAt, type Problem } from './checked.ts';
import { ColorField } from './color-field.tsx';
import type { Theme } from './content.ts';
import { ImageField } from './image-field.tsx';

const COLORS = [
  ['brand_color', 'Buttons and links'],
  ['bg_color', 'Background'],
  ['text_color', 'Text'],
] as const;
const FONTS = [
  ['font_body', 'Text font'],
  ['font_heading', 'Heading font'],
] as const;

/** The theme of the brand, which applies to everything that a letter does not set. */
function useBrandTheme(): Partial<Record<keyof Theme, string>> {
  const data = useOwnBrand();
  if (!data) return {};
  const { default_theme: theme, brand_color, bg_color, text_color, font_body, font_heading, logo } = data;
  const own = { brand_color, bg_color, text_color, font_body, font_heading, logo_url: logo };
  const all = { ...own, ...(theme as Record<string, unknown>) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === 'string'));
}

/** The theme of a letter. An empty field means: that of the brand. */
export function ThemeForm({
  theme,
  problems,
  onChange,
}: {
  theme: Theme;
  problems: readonly Problem[];
  onChange: (next: Theme) => void;
}) {
  const usual = useBrandTheme();
  const errorsOf = (name: keyof Theme) => messagesAt(problems, `design.theme.${name}`);
  const set = (name: keyof Theme, text: string) => {
    const { [name]: _, ...others } = theme;
    onChange(text === '' ? others : { ...others, [name]: text });
  };
  return (
    <details className="section-style">
      <summary>Theme</summary>
      <p className="hint">Empty fields use the look of the brand.</p>
      <div className="style-fields">
        {COLORS.map(([name, label]) => (
          <ColorField
            key={name}
            label={label}
            value={theme[name] ?? ''}
            usual={usual[name] ?? ''}
            error={errorsOf(name)}
            onChange={(text) => set(name, text)}
          />
        ))}
        {FONTS.map(([name, label]) => (
          <Field key={name} label={label} error={errorsOf(name)}>
            <TextInput
              value={theme[name] ?? ''}
              placeholder={usual[name] ?? 'Helvetica'}
              onChange={(event) => set(name, event.target.value)}
            />
          </Field>
        ))}
      </div>
      <ImageField
        label="Logo"
        value={theme.logo_url ?? ''}
        error={errorsOf('logo_url')}
        onChange={(url) => set('logo_url', url)}
      />
    </details>
  );
}
