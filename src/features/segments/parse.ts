import { z } from 'zod';
import { issueMessage } from '../../errors.ts';
import { nearestName } from '../../platform/input/nearest-name.ts';
import {
  type ColumnName,
  columnKinds,
  type Condition,
  type EngagementName,
  engagementKinds,
  type FlowNames,
  MAX_DEPTH,
  MAX_FILTERS,
  type NameKind,
  type Operand,
  type Order,
  type Predicate,
  predicates,
  predicatesOf,
  type RunOperand,
  statuses,
  type Test,
} from './language.ts';
import { addressTests, isAddress } from './addresses.ts';
import { containsJsonTests, equalJsonTests } from './json-tests.ts';
import { keysOfName } from './name-path.ts';
import { checkCompared, flowRoots, namesRunValue } from './run-values.ts';
import { checkStep, idOf, namesStep, STEP_NAME } from './step-names.ts';
import {
  MAX_ITEMS,
  type Path,
  readBoolean,
  readCampaignEngagement,
  readComparison,
  readHowOften,
  readId,
  readMany,
  readNothing,
  readNumber,
  readOneOf,
  readOrdered,
  readPart,
  readPeriod,
  readStepEngagement,
  readText,
  readTime,
  type ReadValue,
  type Report,
} from './values.ts';

const MAX_NAME = 300;
/** Maximum number of keys in the path of `data.<path>`. */
const MAX_PATH_NAMES = 10;
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

const plainNames = [
  ...Object.keys(columnKinds),
  'list',
  'segment',
  ...Object.keys(engagementKinds),
  'any',
  'all',
];

function kindOf(name: string, flow: FlowNames | null): NameKind | null {
  if (Object.hasOwn(columnKinds, name)) return columnKinds[name as ColumnName];
  if (Object.hasOwn(engagementKinds, name)) return 'engagement';
  if (name === 'list' || name === 'segment' || name === 'any' || name === 'all') return name;
  if (name.startsWith('event.')) return 'event';
  const [root = '', ...others] = keysOfName(name) ?? [];
  const isRoot = root === 'data' || (flow !== null && flowRoots.includes(root));
  return isRoot && others.length > 0 ? 'json' : null;
}

const suggestion = (near: string | null) => (near ? `; did you mean ${near}?` : '');

function unknownName(name: string): string {
  return `is not a known name${suggestion(nearestName(name, plainNames))}`;
}

/** @returns undefined after a report */
function pathOf(names: string[] | null, example: string, path: Path, report: Report): string[] | undefined {
  const [root] = example.split('.');
  if (!names || names.length === 0 || names.includes(''))
    return void report(path, `must name a key of ${root}, such as ${example}`);
  if (names.length > MAX_PATH_NAMES) return void report(path, `must have at most ${MAX_PATH_NAMES} keys`);
  return names;
}

/** @returns undefined after a report */
function stepOperand(name: string, flow: FlowNames, path: Path, report: Report): Operand | undefined {
  const [, , id, ref, rest] = STEP_NAME.exec(name) ?? [];
  if (rest === undefined)
    return void report(path, 'must name a webhook step and a key of its answer, such as step.3.status');
  const step = ref ?? Number(id);
  if (!checkStep(flow, step, ['webhook'], path, report)) return undefined;
  const names = pathOf(keysOfName(rest), 'step.3.status', path, report);
  return names && { of: { step: idOf(step) }, path: names };
}

/** @returns undefined after a report */
function operandOf(name: string, flow: FlowNames | null, path: Path, report: Report): Operand | undefined {
  if (Object.hasOwn(columnKinds, name)) return { column: name as ColumnName };
  const [first, ...others] = keysOfName(name) ?? [];
  if (first === 'data') {
    const names = pathOf(others, 'data.plan', path, report);
    return names && { path: names };
  }
  if (!flow) throw new Error(`a filter has no value by the name ${name}`);
  if (first === 'step') return stepOperand(name, flow, path, report);
  if (first === 'received' && !flow.received)
    return void report(path, 'can be used only in the filters of a wait_for_event step');
  const names = pathOf(others, `${first}.plan`, path, report);
  return names && { of: first as 'trigger' | 'received', path: names };
}

interface Reading {
  kind: NameKind;
  column: ColumnName | null;
  predicate: Predicate;
  value: unknown;
  path: Path;
  report: Report;
  strict: boolean;
}

function equalityTests({ kind, column, predicate, value, path, report }: Reading): Test[] | undefined {
  const isArray = predicate === 'in' || predicate === 'not_in';
  const many = <T>(read: ReadValue<T>) => readMany(isArray, read)(value, path, report);
  switch (kind) {
    case 'id': {
      const values = many(readId);
      return values && [{ type: 'number', match: 'equal', values }];
    }
    case 'boolean': {
      const values = many(readBoolean);
      return values?.map((one) => ({ type: 'boolean', value: one }));
    }
    case 'json':
      return equalJsonTests(isArray, value, path, report);
    default: {
      const known = column && statuses[column];
      const values = many(known ? readOneOf(known) : readText);
      return values && [{ type: 'text', match: 'equal', values }];
    }
  }
}

function comparisonTest(order: Order | 'between', { kind, value, path, report }: Reading): Test | undefined {
  if (kind === 'id') {
    const comparison = readComparison(order, readNumber)(value, path, report);
    return comparison && { type: 'number', match: 'compare', comparison };
  }
  const read: ReadValue<number | Date> = kind === 'time' ? readTime : readOrdered;
  const comparison = readComparison(order, read)(value, path, report);
  if (!comparison) return undefined;
  const sample = comparison.order === 'between' ? comparison.low : comparison.value;
  // The readers ensure that both bounds have the same type.
  return typeof sample === 'number'
    ? ({ type: 'number', match: 'compare', comparison } as Test)
    : ({ type: 'time', match: 'compare', comparison } as Test);
}

const matches = { cont: 'contains', not_cont: 'contains', start: 'starts', end: 'ends' } as const;

/** @returns tests, of which at least one must pass; undefined after a report */
export function testsOf(reading: Reading): Test[] | undefined {
  const { column, predicate, value, path, report } = reading;
  const ofAddress = isAddress(column) ? addressTests({ ...reading, column }) : null;
  if (ofAddress !== null) return ofAddress;
  switch (predicate) {
    case 'eq':
    case 'not_eq':
    case 'in':
    case 'not_in':
      return equalityTests(reading);
    case 'cont':
    case 'not_cont':
    case 'start':
    case 'end': {
      const isJson = reading.kind === 'json';
      if (isJson && matches[predicate] === 'contains') return containsJsonTests(value, path, report);
      const part = readPart(value, path, report);
      return part === undefined ? undefined : [{ type: 'text', match: matches[predicate], value: part }];
    }
    case 'gt':
    case 'gteq':
    case 'lt':
    case 'lteq':
    case 'between': {
      const test = comparisonTest(predicate, reading);
      return test && [test];
    }
    case 'within_last':
    case 'older_than': {
      const period = readPeriod(value, path, report);
      return period && [{ type: 'time', match: predicate, period }];
    }
    case 'true':
    case 'false':
      return readNothing(value, path, report) && [{ type: 'boolean', value: predicate === 'true' }];
    case 'present':
    case 'blank':
      return readNothing(value, path, report) && [{ type: 'present' }];
    default:
      return undefined;
  }
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
