import { useId, useState } from 'react';
import { TextInput } from '../../ui/field.tsx';
import { nameText } from '../../ui/filter-text.ts';
import { COLUMNS, isOpen, stemOf, type Filter, type Scope } from './language.ts';
import { useFilterNames, type FilterNames } from './names.ts';
import { useFilterContext, type EarlierStep } from './filter-context.ts';
import { withName } from './values.ts';

export interface Notes {
  'aria-describedby': string | undefined;
  'aria-invalid': true | undefined;
}

interface NameOption {
  value: string;
  label: string;
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const option = (value: string): NameOption => ({ value, label: sentence(nameText(value)) });
const columns = Object.entries(COLUMNS);
const ofKind = (isWanted: (kind: string) => boolean) =>
  columns.filter(([, kind]) => isWanted(kind)).map(([name]) => option(name));

const ACTIVITY: readonly NameOption[] = [
  { value: 'email_sent', label: 'Was sent an email' },
  { value: 'email_opened', label: 'Opened an email' },
  { value: 'email_clicked', label: 'Clicked in an email' },
];

/** Names with values that only a run of a flow has. */
function runOptions(scope: Scope, steps: readonly EarlierStep[]): NameOption[] {
  if (scope === 'segment') return [];
  const started = { value: 'trigger.', label: 'Starting event: key…' };
  if (scope === 'trigger') return [started];
  const answers = steps
    .filter(({ type }) => type === 'webhook')
    .map(({ key, title }) => ({ value: `step.${key}.`, label: `Response of ${title}: key…` }));
  const arrived = { value: 'received.', label: 'Arrived event: key…' };
  return scope === 'received' ? [arrived, started, ...answers] : [started, ...answers];
}

function groupsOf(scope: Scope, steps: readonly EarlierStep[], names: FilterNames) {
  const run = runOptions(scope, steps);
  return [
    ...(run.length > 0 ? [{ label: 'This run', options: run }] : []),
    { label: 'Contact', options: ofKind((kind) => kind === 'text' || kind === 'id') },
    {
      label: 'Data of the contact',
      options: [
        ...names.data.map(({ path }) => ({ value: `data.${path}`, label: path })),
        { value: 'data.', label: 'Another key…' },
      ],
    },
    {
      label: 'What the contact did',
      options: [
        ...names.events.map((name) => ({ value: `event.${name}`, label: `Event ${name}` })),
        { value: 'event.', label: 'Another event…' },
        ...ACTIVITY,
      ],
    },
    {
      label: 'Lists and segments',
      options: [
        { value: 'list', label: 'List' },
        { value: 'segment', label: 'Segment' },
      ],
    },
    {
      label: 'State',
      options: ofKind((kind) => kind === 'boolean' || kind === 'status' || kind === 'verdict'),
    },
    { label: 'Times', options: ofKind((kind) => kind === 'time') },
  ];
}

const EXAMPLES: Record<string, string> = {
  'data.': 'plan',
  'event.': 'order_placed',
  'trigger.': 'total',
  'received.': 'total',
};

/** Chooses what a filter is about; keys of data and names of events can also be typed. */
export function NameChoice({
  filter,
  isNew,
  onChange,
  notes,
}: {
  filter: Filter;
  isNew: boolean;
  onChange: (next: Filter) => void;
  notes: Notes;
}) {
  const { scope, steps } = useFilterContext();
  const names = useFilterNames();
  const [typing, setTyping] = useState(false);
  const { name } = filter;
  const groups = groupsOf(scope, steps, names);
  const isListed = groups.some(({ options }) => options.some(({ value }) => value === name));
  const stem = stemOf(name);
  const isTyped = isOpen(stem) && (typing || !isListed || name === stem);
  const isStemListed = groups.some(({ options }) => options.some(({ value }) => value === stem));
  const change = (next: string) => onChange(withName(filter, next, scope));
  return (
    <>
      <select
        className="input filter-name"
        aria-label="Name"
        autoFocus={isNew}
        value={isTyped ? stem : name}
        onChange={(event) => {
          setTyping(isOpen(event.target.value));
          change(event.target.value);
        }}
        {...notes}
      >
        {name === '' && <option value="">Choose…</option>}
        {isTyped && !isStemListed && <option value={stem}>{stem}</option>}
        {groups.map(({ label, options }) => (
          <optgroup key={label} label={label}>
            {options.map(({ value, label: text }) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {isTyped && (
        <TypedName
          stem={stem}
          rest={name.slice(stem.length)}
          known={
            stem === 'event.' ? names.events : stem === 'data.' ? names.data.map(({ path }) => path) : []
          }
          onChange={(rest) => {
            setTyping(true);
            change(stem + rest);
          }}
          notes={notes}
        />
      )}
    </>
  );
}

function TypedName({
  stem,
  rest,
  known,
  onChange,
  notes,
}: {
  stem: string;
  rest: string;
  known: readonly string[];
  onChange: (rest: string) => void;
  notes: Notes;
}) {
  const id = useId();
  const suggested = stem.startsWith('step.') ? ['status', 'body.'] : known;
  return (
    <>
      <TextInput
        aria-label={stem === 'event.' ? 'Event' : 'Key'}
        className="filter-key"
        placeholder={EXAMPLES[stem] ?? 'status'}
        value={rest}
        list={id}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value.trim())}
        {...notes}
      />
      <datalist id={id}>
        {suggested.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </>
  );
}
