import { nearestName } from '../../platform/input/nearest-name.ts';
import {
  columnKinds,
  type ColumnName,
  engagementKinds,
  type FlowNames,
  type NameKind,
  type Operand,
} from './language.ts';
import { keysOfName } from './name-path.ts';
import { flowRoots } from './run-values.ts';
import { checkStep, idOf, STEP_NAME } from './step-names.ts';
import type { Path, Report } from './values.ts';

/** Maximum number of keys in the path of `data.<path>`. */
const MAX_PATH_NAMES = 10;

const plainNames = [
  ...Object.keys(columnKinds),
  'list',
  'segment',
  ...Object.keys(engagementKinds),
  'any',
  'all',
];

export function kindOf(name: string, flow: FlowNames | null): NameKind | null {
  if (Object.hasOwn(columnKinds, name)) return columnKinds[name as ColumnName];
  if (Object.hasOwn(engagementKinds, name)) return 'engagement';
  if (name === 'list' || name === 'segment' || name === 'any' || name === 'all') return name;
  if (name.startsWith('event.')) return 'event';
  const [root = '', ...others] = keysOfName(name) ?? [];
  const isRoot = root === 'data' || (flow !== null && flowRoots.includes(root));
  return isRoot && others.length > 0 ? 'json' : null;
}

const suggestion = (near: string | null) => (near ? `; did you mean ${near}?` : '');

export function unknownName(name: string): string {
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
export function operandOf(
  name: string,
  flow: FlowNames | null,
  path: Path,
  report: Report,
): Operand | undefined {
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
