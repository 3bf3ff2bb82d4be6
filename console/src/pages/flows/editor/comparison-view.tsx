import { useMemo } from 'react';
import { useAudienceNames } from '../../../api/audience.ts';
import type { AudienceNames } from '../../../api/choices.ts';
import { countText } from '../../../ui/details.tsx';
import {
  conditionsText,
  reentryText,
  stepSummary,
  stepTitle,
  triggerText,
  type FlowStep,
} from '../step-text.ts';
import { compareSteps, type Change, type Comparison, type FieldChange, type StepRow } from './compare.ts';
import { keyOf } from '../flow-layout.ts';
import type { FlowContent, Step } from './model.ts';
import { keyText } from './texts.ts';

/** What a version does. */
export type Compared = Pick<FlowContent, 'goal' | 'trigger' | 'steps'>;

/** A version, and what it is called. */
export interface Side {
  title: string;
  flow: Compared;
}

const CHANGES = ['added', 'removed', 'changed', 'moved'] as const;

/** Returns how many steps differ, in words. */
export const countsText = ({ counts }: Comparison): string =>
  CHANGES.filter((change) => counts[change] > 0)
    .map((change) => `${countText(counts[change])} ${change}`)
    .join(', ');

type Fact = readonly [name: string, value: string];

function factsOf({ goal, trigger }: Compared, names: AudienceNames): readonly Fact[] {
  const { filters, exit_filters: exitFilters, reentry } = trigger.data;
  return [
    ['Who enters', triggerText(trigger, names)],
    ['Only contacts with', filters?.length ? conditionsText(filters, names) : '–'],
    ['The same contact enters', reentryText(reentry)],
    ['Leaves as soon as', exitFilters?.length ? conditionsText(exitFilters, names) : '–'],
    ['Goal', goal ?? '–'],
  ];
}

/** Two versions side by side: who enters, and how each step differs. */
export function ComparisonView({ left, right }: { left: Side; right: Side }) {
  const names = useAudienceNames();
  const comparison = useMemo(() => compareSteps(left.flow.steps, right.flow.steps), [left.flow, right.flow]);
  const before = factsOf(left.flow, names);
  const after = factsOf(right.flow, names);
  return (
    <>
      <p>{countsText(comparison) === '' ? 'The steps are the same.' : `Steps: ${countsText(comparison)}.`}</p>
      <div className="table-frame">
        <table className="comparison">
          <thead>
            <tr>
              <th scope="col">Change</th>
              <th scope="col">{left.title}</th>
              <th scope="col">{right.title}</th>
            </tr>
          </thead>
          <tbody>
            {before.map(([name, value], index) => (
              <FactRow key={name} name={name} before={value} after={after[index]?.[1] ?? ''} />
            ))}
            {comparison.rows.map((row) => (
              <ComparedStep
                key={`${row.change} ${sideKey(row.left)} ${sideKey(row.right)}`}
                row={row}
                names={names}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

const sideKey = (step: Step | null) => (step ? keyOf(step) : '');

function FactRow({ name, before, after }: { name: string; before: string; after: string }) {
  const isChanged = before !== after;
  return (
    <tr className={isChanged ? 'changed' : undefined}>
      <td>{isChanged && 'changed'}</td>
      {[before, after].map((value, side) => (
        <td key={side === 0 ? 'before' : 'after'}>
          <span className="muted">{name}</span> {value}
        </td>
      ))}
    </tr>
  );
}

const SHOWN: Record<Change, string> = {
  same: '',
  changed: 'changed',
  moved: 'moved',
  added: 'added',
  removed: 'removed',
};

function ComparedStep({ row, names }: { row: StepRow; names: AudienceNames }) {
  const { left, right, change, fields, level, begins } = row;
  const cell = (step: Step | null, side: 'before' | 'after') => (
    <td style={{ paddingLeft: `${0.6 + (level - 1) * 1.2}rem` }}>
      {step && (
        <>
          {begins.length > 0 && <span className="muted">{begins.join(' › ')}: </span>}
          <strong>{stepTitle(step)}</strong> <span className="muted">{keyText(step)}</span>{' '}
          {stepSummary(step as FlowStep, names)}
          <FieldList fields={fields.filter((field) => field[side] !== undefined)} side={side} />
        </>
      )}
    </td>
  );
  return (
    <tr className={change}>
      <td>{SHOWN[change]}</td>
      {cell(left, 'before')}
      {cell(right, 'after')}
    </tr>
  );
}

const MAX_TEXT = 200;

function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}

function FieldList({ fields, side }: { fields: readonly FieldChange[]; side: 'before' | 'after' }) {
  if (fields.length === 0) return null;
  return (
    <ul>
      {fields.map((field) => (
        <li key={field.field}>
          <span className="muted">{field.field.replaceAll('_', ' ')}:</span> {valueText(field[side])}
        </li>
      ))}
    </ul>
  );
}
