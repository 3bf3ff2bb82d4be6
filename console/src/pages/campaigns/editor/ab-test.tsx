import { Button } from '../../../ui/button.tsx';
import { Checkbox, Field, Select, TextInput } from '../../../ui/field.tsx';
import type { Campaign } from '../campaign-frame.tsx';
import type { FieldErrors } from './check.ts';
import type { Options } from './content.ts';
import { useTemplateChoices } from './template-choices.ts';

type Test = NonNullable<Options['ab']>;
type Variant = Test['variants'][number];

const PATH = 'data.options.ab';
const MAX_VARIANTS = 5;
const HOUR_SECONDS = 3_600;
const NEW_TEST: Test = {
  variants: [
    { subject: '', weight: 20 },
    { subject: '', weight: 20 },
  ],
  by: 'opens',
  after_seconds: 4 * HOUR_SECONDS,
};

/** Sends several variants to parts of the audience, and the best one to the rest. */
export function AbTest({
  options,
  channel,
  errors,
  set,
}: {
  options: Options;
  channel: Campaign['channel'];
  errors: FieldErrors;
  set: (part: Partial<Options>) => void;
}) {
  const test = options.ab ?? null;
  const change = (part: Partial<Test>) => test && set({ ab: { ...test, ...part } });
  const rest = 100 - (test?.variants.reduce((sum, { weight }) => sum + weight, 0) ?? 0);
  return (
    <>
      <Checkbox
        label="A/B test"
        hint="Parts of the audience get different variants; the rest gets the best one."
        checked={test !== null}
        onChange={(event) => set({ ab: event.target.checked ? newTest(channel) : null })}
      />
      {test && (
        <div className="filter-group">
          <ol className="plain">
            {test.variants.map((variant, index) => (
              // A variant has no id; its position is what the API knows it by.
              <li key={index}>
                <VariantFields
                  {...{ variant, index, channel, errors }}
                  onChange={(next) => change({ variants: test.variants.with(index, next) })}
                  onRemove={
                    test.variants.length > 2
                      ? () => change({ variants: test.variants.toSpliced(index, 1) })
                      : undefined
                  }
                />
              </li>
            ))}
          </ol>
          {(errors[`${PATH}.variants`] ?? []).map((text) => (
            <p key={text} className="field-error" role="alert">
              {text}
            </p>
          ))}
          <p className="muted" role="status">
            {rest > 0 ? `${rest} % get the best variant.` : 'All recipients are in the test.'}
          </p>
          {test.variants.length < MAX_VARIANTS && (
            <div className="actions">
              <Button onClick={() => change({ variants: [...test.variants, newVariant(channel)] })}>
                Add a variant
              </Button>
            </div>
          )}
          {rest > 0 && <Decision test={test} errors={errors} change={change} />}
        </div>
      )}
    </>
  );
}

const newVariant = (channel: Campaign['channel']): Variant =>
  channel === 'email' ? { subject: '', weight: 10 } : { weight: 10 };

const newTest = (channel: Campaign['channel']): Test =>
  channel === 'email'
    ? NEW_TEST
    : { ...NEW_TEST, by: 'clicks', variants: [newVariant(channel), newVariant(channel)] };

/** How the best variant is found. */
function Decision({
  test,
  errors,
  change,
}: {
  test: Test;
  errors: FieldErrors;
  change: (part: Partial<Test>) => void;
}) {
  return (
    <div className="grid">
      <Field label="The best one has the most" error={errors[`${PATH}.by`]}>
        <Select
          value={test.by ?? 'opens'}
          options={['opens', 'clicks']}
          onChange={(event) => change({ by: event.target.value === 'clicks' ? 'clicks' : 'opens' })}
        />
      </Field>
      <Field label="Hours until it is chosen" error={errors[`${PATH}.after_seconds`]}>
        <TextInput
          type="number"
          min={0.1}
          step="any"
          value={(test.after_seconds ?? 0) / HOUR_SECONDS}
          onChange={(event) =>
            change({ after_seconds: Math.round(Number(event.target.value) * HOUR_SECONDS) })
          }
        />
      </Field>
    </div>
  );
}

function VariantFields({
  variant,
  index,
  channel,
  errors,
  onChange,
  onRemove,
}: {
  variant: Variant;
  index: number;
  channel: Campaign['channel'];
  errors: FieldErrors;
  onChange: (next: Variant) => void;
  onRemove: (() => void) | undefined;
}) {
  const templates = useTemplateChoices(channel);
  const { subject, template_id: templateId, weight } = variant;
  const path = `${PATH}.variants.${index}`;
  const isSubject = subject !== undefined;
  return (
    <fieldset className="variant">
      <legend>Variant {index + 1}</legend>
      <div className="grid">
        <Field label="Content" error={errors[`${path}.template_id`] ?? errors[path]}>
          <Select
            value={isSubject ? 'subject' : String(templateId ?? '')}
            options={[
              ...(channel === 'email'
                ? [{ value: 'subject', label: 'The letter with another subject' }]
                : []),
              ...(isSubject || templateId !== undefined ? [] : [{ value: '', label: 'Choose a template' }]),
              ...templates,
            ]}
            onChange={({ target: { value } }) =>
              onChange(value === 'subject' ? { subject: '', weight } : { template_id: Number(value), weight })
            }
          />
        </Field>
        {isSubject && (
          <Field label="Subject" error={errors[`${path}.subject`]}>
            <TextInput
              value={subject}
              onChange={(event) => onChange({ subject: event.target.value, weight })}
            />
          </Field>
        )}
        <Field label="Percent of the audience" error={errors[`${path}.weight`]}>
          <TextInput
            type="number"
            min={1}
            max={100}
            value={weight}
            onChange={(event) => onChange({ ...variant, weight: Math.round(Number(event.target.value)) })}
          />
        </Field>
      </div>
      {onRemove && (
        <Button kind="quiet" aria-label={`Remove variant ${index + 1}`} onClick={onRemove}>
          Remove
        </Button>
      )}
    </fieldset>
  );
}
