import { z } from 'zod';
import { issueMessage } from '../../errors.ts';
import {
  type Condition,
  type EngagementName,
  type FlowNames,
  MAX_DEPTH,
  MAX_FILTERS,
  type NameKind,
  type Operand,
  type Predicate,
  predicates,
  predicatesOf,
  type RunOperand,
  type Test,
} from './language.ts';
import { checkCompared, namesRunValue } from './run-values.ts';
import { checkStep, idOf, namesStep } from './step-names.ts';
import {
  MAX_ITEMS,
  type Path,
  readCampaignEngagement,
  readHowOften,
  readId,
  readMany,
  readStepEngagement,
  type Report,
} from './values.ts';
import { testsOf } from './value-tests.ts';
import { kindOf, operandOf, unknownName } from './named-operands.ts';

const MAX_NAME = 300;
const EVENT_NAME = /^[a-z][a-z0-9_]{0,63}$/;

/** One filter as clients write it. The type of its value depends on the name and the predicate. */
export const filterShape = z
  .strictObject({
    name: z.string().min(1).max(MAX_NAME),
    predicate: z.enum(predicates),
    value: z.unknown().optional(),
  })
  .meta({ id: 'Filter' });
export type Filter = z.output<typeof filterShape>;

/** An error in a part of the filters. */
export interface Problem {
  /** Path from the array of filters: `[2, 'value', 0]`. */
  path: Path;
  message: string;
}

const negative: readonly Predicate[] = ['not_eq', 'not_in', 'not_cont', 'blank', 'did_not'];

/** What the parsers of all kinds of filters need. */
interface Parsing {
  /** Null: the filters are not those of a flow. */
  flow: FlowNames | null;
  report: Report;
  /** Whether texts that no stored value can equal are problems. */
  strict: boolean;
}

function parseValue(
  filter: Filter,
  kind: NameKind,
  at: Path,
  { flow, report, strict }: Parsing,
): Condition | undefined {
  const { name, predicate, value } = filter;
  const operand = operandOf(name, flow, [...at, 'name'], report);
  if (flow && namesRunValue(value)) {
    const from = checkCompared(flow, predicate, value, at, report);
    const source = from === undefined ? undefined : operandOf(from, flow, [...at, 'value', 'from'], report);
    return operand && source && isOfRun(source)
      ? { type: 'compared', operand, predicate, from: source }
      : undefined;
  }
  const column = operand && 'column' in operand ? operand.column : null;
  const tests = testsOf({ kind, column, predicate, value, path: [...at, 'value'], report, strict });
  if (!operand || !tests) return undefined;
  return conditionOf(operand, tests);
}

const isOfRun = (operand: Operand): operand is RunOperand => 'of' in operand;

export function conditionOf(operand: Operand, tests: readonly Test[]): Condition | undefined {
  const [first, ...more] = tests.map((test): Condition => ({ type: 'value', operand, test }));
  return first && more.length > 0 ? { type: 'any', parts: [first, ...more] } : first;
}

function parseMembership(
  filter: Filter,
  kind: 'list' | 'segment',
  at: Path,
  report: Report,
): Condition | undefined {
  const isArray = filter.predicate === 'in' || filter.predicate === 'not_in';
  // Each segment counts as at least one filter.
  const maxItems = kind === 'segment' ? MAX_FILTERS : MAX_ITEMS;
  const ids = readMany(isArray, readId, maxItems)(filter.value, [...at, 'value'], report);
  return ids && { type: kind, ids: [...new Set(ids)] };
}

function parseEngaged(
  { name, value }: Filter,
  flow: FlowNames,
  at: Path,
  report: Report,
): Condition | undefined {
  const inner = [...at, 'value'];
  if (name !== 'email_opened' && name !== 'email_clicked')
    return void report([...inner, 'step'], 'can be used only with email_opened and email_clicked');
  const asked = readStepEngagement(value, inner, report);
  if (!asked || !checkStep(flow, asked.step, ['email'], [...inner, 'step'], report)) return undefined;
  return { type: 'engaged', kind: name, step: idOf(asked.step), within: asked.within };
}

/** Whether the value of a filter about mail names a campaign. */
export const namesCampaign = (value: unknown): value is { campaign_id: unknown } =>
  typeof value === 'object' && value !== null && 'campaign_id' in value;

function parseActivity(filter: Filter, at: Path, { flow, report }: Parsing): Condition | undefined {
  const { name, value } = filter;
  const event = name.startsWith('event.') ? name.slice('event.'.length) : null;
  if (event !== null && !EVENT_NAME.test(event)) {
    return void report([...at, 'name'], 'must be event. and a name of a-z, 0-9 and _, up to 64 characters');
  }
  if (flow && event === null && namesStep(value)) return parseEngaged(filter, flow, at, report);
  const engagement = name as EngagementName;
  if (event === null && namesCampaign(value)) {
    const asked = readCampaignEngagement(value, [...at, 'value'], report);
    if (!asked) return undefined;
    const { campaignId, within } = asked;
    return { type: 'did', activity: { engagement, campaignId }, atLeast: 1, within };
  }
  const often = readHowOften(value, [...at, 'value'], report);
  const activity = event === null ? { engagement, campaignId: null } : { event };
  return often && { type: 'did', activity, ...often };
}

/** Parses filters and counts them. */
class Parser implements Parsing {
  readonly problems: Problem[] = [];
  private count = 0;
  readonly flow: FlowNames | null;
  readonly strict: boolean;

  readonly report: Report = (path, message) => {
    this.problems.push({ path, message });
  };

  constructor(flow: FlowNames | null, strict: boolean) {
    this.flow = flow;
    this.strict = strict;
  }

  /** @param depth level of the filters; 1 outside groups */
  parseAll(filters: readonly unknown[], at: Path, depth: number): Condition[] {
    if (depth > MAX_DEPTH) {
      this.report(at, `is nested too deeply: at most ${MAX_DEPTH} levels`);
      return [];
    }
    this.count += filters.length;
    if (this.count > MAX_FILTERS) {
      this.report(at, `must have at most ${MAX_FILTERS} filters in all`);
      return [];
    }
    return filters.flatMap((filter, index) => this.parseOne(filter, [...at, index], depth) ?? []);
  }

  private parseOne(given: unknown, at: Path, depth: number): Condition | undefined {
    const parsed = filterShape.safeParse(given, { error: issueMessage });
    if (!parsed.success) {
      for (const { path, message, code } of parsed.error.issues) {
        const text =
          code === 'unrecognized_keys' ? 'can have only the fields name, predicate and value' : message;
        this.report([...at, ...(path as Path)], text);
      }
      return undefined;
    }
    const filter = parsed.data;
    const kind = kindOf(filter.name, this.flow);
    if (!kind) return void this.report([...at, 'name'], unknownName(filter.name));
    if (!predicatesOf[kind].includes(filter.predicate)) {
      const known = predicatesOf[kind].join(', ');
      return void this.report([...at, 'predicate'], `must be one of ${known} for ${filter.name}`);
    }
    const condition = this.parseKind(filter, kind, at, depth);
    return condition && negative.includes(filter.predicate) ? { type: 'not', part: condition } : condition;
  }

  private parseKind(filter: Filter, kind: NameKind, at: Path, depth: number): Condition | undefined {
    switch (kind) {
      case 'any':
      case 'all': {
        const inner = [...at, 'value'];
        if (!Array.isArray(filter.value)) return void this.report(inner, 'must be an array of filters');
        if (filter.value.length === 0) return void this.report(inner, 'must not be empty');
        return { type: kind, parts: this.parseAll(filter.value, inner, depth + 1) };
      }
      case 'list':
      case 'segment':
        return parseMembership(filter, kind, at, this.report);
      case 'event':
      case 'engagement':
        return parseActivity(filter, at, this);
      default:
        return parseValue(filter, kind, at, this);
    }
  }
}

/**
 * Parses filters.
 * @param flow what filters of a flow may name
 * @param options.strict whether texts that are no address are problems where addresses are compared. They match no
 *   contact. Give it for filters of a request, and not for stored ones, which older versions did not check.
 * @returns a condition for each filter, all of which must hold; do not use them if there are problems
 */
export function parseFilters(
  filters: readonly unknown[],
  flow: FlowNames | null = null,
  { strict = false }: { strict?: boolean } = {},
): { conditions: Condition[]; problems: Problem[] } {
  const parser = new Parser(flow, strict);
  const conditions = parser.parseAll(filters, [], 1);
  return { conditions, problems: parser.problems };
}
