import { Field, TextInput } from '../../ui/field.tsx';

const HEX = /^#[0-9a-fA-F]{6}$/;
const SHORT_HEX = /^#[0-9a-fA-F]{3}$/;

/** The color that the picker of the browser shows; it takes long hexadecimal colors only. */
function pickerColor(color: string): string {
  if (HEX.test(color)) return color;
  return SHORT_HEX.test(color) ? color.replaceAll(/[0-9a-f]/gi, '$&$&') : '#ffffff';
}

/** A color, typed or picked. @param usual what is shown if it is empty */
export function ColorField({
  label,
  value,
  usual = '',
  error,
  onChange,
}: {
  label: string;
  value: string;
  usual?: string;
  error?: readonly string[];
  onChange: (next: string) => void;
}) {
  return (
    <div className="color-field">
      <input
        type="color"
        aria-label={`Color picker: ${label}`}
        value={pickerColor(value || usual)}
        onChange={(event) => onChange(event.target.value)}
      />
      <Field label={label} error={error}>
        <TextInput
          value={value}
          placeholder={usual}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      </Field>
    </div>
  );
}
