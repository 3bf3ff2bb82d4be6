import { Checkbox, Field, TextInput } from '../../../ui/field.tsx';
import { localText, timeOf } from '../../../ui/local-time.ts';
import type { Campaign } from '../campaign-frame.tsx';
import { AbTest } from './ab-test.tsx';
import type { FieldErrors } from './check.ts';
import type { EditedCampaign, Options } from './content.ts';
import { EditorPart } from './editor-part.tsx';

const UTM = [
  ['source', 'Source'],
  ['medium', 'Medium'],
  ['campaign', 'Campaign'],
] as const;

/** Returns a number that was typed; null if nothing was. */
const numberOf = (text: string) => (text.trim() === '' ? null : Number(text));

/** When the campaign is sent, how fast, and in which variants. */
export function SendingPart({
  content,
  channel,
  errors,
  change,
}: {
  content: EditedCampaign;
  channel: Campaign['channel'];
  errors: FieldErrors;
  change: (part: Partial<EditedCampaign>) => void;
}) {
  const { options } = content.data;
  const set = (part: Partial<Options>) =>
    change({ data: { ...content.data, options: { ...options, ...part } } });
  return (
    <EditorPart name="sending">
      <div className="grid">
        <When at={content.scheduled_at} errors={errors} onChange={(at) => change({ scheduled_at: at })} />
        <Field
          label="Maximum messages per minute"
          hint="If it is empty, they are sent as fast as possible."
          error={errors['data.options.throttle_per_minute']}
        >
          <TextInput
            type="number"
            min={1}
            value={options.throttle_per_minute ?? ''}
            onChange={(event) => set({ throttle_per_minute: numberOf(event.target.value) })}
          />
        </Field>
      </div>
      <Checkbox
        label="At this time in the time zone of each recipient"
        hint="Recipients farther east get it first. Set the time at which it begins, too."
        checked={options.send_at_local_time === true}
        onChange={(event) => set({ send_at_local_time: event.target.checked })}
      />
      {channel === 'email' && <Utm options={options} errors={errors} set={set} />}
      <AbTest options={options} channel={channel} errors={errors} set={set} />
    </EditorPart>
  );
}

function When({
  at,
  errors,
  onChange,
}: {
  at: string | null;
  errors: FieldErrors;
  onChange: (at: string | null) => void;
}) {
  return (
    <Field
      label="Begins at"
      hint="In your own time zone. If it is empty, the campaign begins when you send it."
      error={errors.scheduled_at}
    >
      <TextInput
        type="datetime-local"
        value={localText(at)}
        onChange={(event) => onChange(timeOf(event.target.value))}
      />
    </Field>
  );
}

/** What is added to links, so that web statistics know where visitors come from. */
function Utm({
  options,
  errors,
  set,
}: {
  options: Options;
  errors: FieldErrors;
  set: (part: Partial<Options>) => void;
}) {
  return (
    <details open={Object.values(options.utm ?? {}).some(Boolean)}>
      <summary>UTM parameters of links</summary>
      <div className="grid">
        {UTM.map(([name, label]) => (
          <Field key={name} label={label} error={errors[`data.options.utm.${name}`]}>
            <TextInput
              value={options.utm?.[name] ?? ''}
              onChange={(event) => set({ utm: { ...options.utm, [name]: event.target.value || null } })}
            />
          </Field>
        ))}
      </div>
    </details>
  );
}
