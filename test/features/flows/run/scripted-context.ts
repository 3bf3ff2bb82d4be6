import type { ArrivedEvent, StepResult, RunContext } from '../../../../src/features/flows/run/interpreter.ts';

/** What a test says of the context of a run. */
export interface Script {
  asOf: string;
  /** When events occurred: those that arrive for the wait, in order. */
  arrivals?: readonly string[];
  /** When events occurred that were written before the wait began and count. */
  earlier?: readonly string[];
  /** Events of these places do not pass the filters. */
  refused?: readonly number[];
  matches?: boolean;
  answers?: StepResult | null;
  quietUntil?: string | null;
  send?: StepResult | { exit: string };
  time?: string | null | { unreadable: unknown };
  timezone?: string;
  mustExit?: string | null;
  percentile?: number;
}

export interface ScriptedContext extends RunContext {
  /** What was recorded: `1 done`. */
  path: string[];
  /** The details of these steps. */
  details: unknown[];
  /** What was called: `email 1`. */
  calls: string[];
}

const date = (text: string | null | undefined) => (text ? new Date(text) : null);

function events(times: readonly string[] = []): ArrivedEvent[] {
  return times.map((time, n) => ({ id: n + 1, data: { n }, occurredAt: new Date(time) }));
}

/** A context in which everything is as the script says. */
export function scriptedContext(script: Script): ScriptedContext {
  const path: string[] = [];
  const details: unknown[] = [];
  const calls: string[] = [];
  return {
    path,
    details,
    calls,
    asOf: new Date(script.asOf),
    mustExit: () => Promise.resolve(script.mustExit ?? null),
    percentile: () => script.percentile ?? 0,
    matches: (_filters, received) =>
      Promise.resolve(
        received ? !script.refused?.includes(received.data.n as number) : (script.matches ?? true),
      ),
    timeOf: () =>
      Promise.resolve(
        typeof script.time === 'object' && script.time !== null ? script.time : date(script.time),
      ),
    timezone: () => Promise.resolve(script.timezone ?? 'UTC'),
    quietUntil: () => Promise.resolve(date(script.quietUntil)),
    act: ({ type, id }) => {
      calls.push(`${type} ${id}`);
      const sends = type === 'email' || type === 'sms';
      return Promise.resolve((sends && script.send) || { outcome: sends ? 'sent' : 'done' });
    },
    awaitEvent: (step) => {
      calls.push(`await ${step.id}`);
      return Promise.resolve(events(script.earlier));
    },
    arrivals: () => Promise.resolve(events(script.arrivals)),
    endAwait: (step) => {
      calls.push(`end ${step.id}`);
      return Promise.resolve();
    },
    answer: () => Promise.resolve(script.answers ?? null),
    record: (step, _place, _arrived, { outcome, detail }) => {
      path.push(`${step.id} ${outcome}`);
      details.push(detail);
      return Promise.resolve();
    },
  };
}
