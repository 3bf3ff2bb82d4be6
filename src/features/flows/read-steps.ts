/** Reads steps as clients write them, and checks everything that can be checked without the database. */
import type { z } from 'zod';
import { isFull, type ValidationErrors } from '../../errors.ts';
import { nearestName } from '../../platform/input/nearest-name.ts';
import { parseWith } from '../../platform/input/validation.ts';
import type { StepName } from '../segments/index.ts';
import { flowFilterProblems } from './filters.ts';
import { branchPath, fieldPath, stepPath } from './paths.ts';
import {
  branchesOf,
  mapBranches,
  referencesOf,
  type StepTable,
  stepTable,
  type StepTypeName,
  typeOf,
} from './steps/index.ts';
import type { AnyStep } from './steps/step.ts';

/** Maximum number of steps in a flow, including those of branches. */
export const MAX_STEPS = 200;
/** Maximum number of nested levels. The steps of the flow itself are level 1. */
export const MAX_LEVELS = 10;

/**
 * A step of a request, in the shape of its type; its branches contain steps as well. Without an id it is a new step;
 * with one, a step that the flow already has.
 */
export interface InputStep extends AnyStep {
  type: StepTypeName;
  /** A name for the step in the same request. */
  ref?: string | undefined;
}

/** All steps with their paths, each before those of its branches. */
export function inputsOf<S extends InputStep>(
  steps: readonly S[],
  list = 'steps',
): { step: S; path: string }[] {
  return steps.flatMap((step, place) => {
    const path = stepPath(list, place);
    const inner = branchesOf(step).flatMap((branch) => inputsOf(branch.steps, branchPath(path, branch.name)));
    return [{ step, path }, ...inner];
  });
}

const NO_ARRAY = 'must be an array of steps';

/** The types of the steps that precede a place, by their ids and refs. */
type Before = ReadonlyMap<StepName, string>;

class StepReader {
  readonly errors: ValidationErrors = {};
  private count = 0;
  private readonly names = new Set<StepName>();
  private readonly table: StepTable;

  constructor(table: StepTable) {
    this.table = table;
  }

  report(path: string, message: string): void {
    if (isFull(this.errors)) return;
    this.errors[path] = [...(this.errors[path] ?? []), message];
  }

  readAll(given: unknown, list: string, level: number): InputStep[] {
    if (given === undefined || given === null) return [];
    if (!Array.isArray(given)) return this.refuse(list, NO_ARRAY);
    if (given.length > 0 && level > MAX_LEVELS) {
      return this.refuse(list, `is nested too deeply: at most ${MAX_LEVELS} levels`);
    }
    this.count += given.length;
    if (this.count > MAX_STEPS) return this.refuse('steps', `must have at most ${MAX_STEPS} steps in all`);
    return given.flatMap((step: unknown, place) => this.readOne(step, stepPath(list, place), level) ?? []);
  }

  refuse(path: string, message: string): [] {
    if (!Object.hasOwn(this.errors, path)) this.report(path, message);
    return [];
  }

  private readOne(given: unknown, path: string, level: number): InputStep | null {
    if (isFull(this.errors)) return null;
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      this.report(path, 'must be an object');
      return null;
    }
    const shape = this.shapeOf(given, path);
    if (!shape) return null;
    const parsed = this.parse(shape, given, path) as InputStep | null;
    // Problems inside a field or the branches are reported together with those of the step.
    const step = this.readInside(parsed ?? (given as InputStep), path, level);
    if (parsed === null) return null;
    for (const field of ['id', 'ref'] as const) {
      const name = step[field];
      if (name === undefined) continue;
      if (this.names.has(name)) this.report(fieldPath(path, field), `is the ${field} of another step, too`);
      this.names.add(name);
    }
    return step;
  }

  private shapeOf(given: object, path: string): z.ZodType | null {
    const type: unknown = 'type' in given ? given.type : undefined;
    const { names, shapes } = this.table;
    const shape = typeof type === 'string' ? shapes.get(type) : undefined;
    if (shape) return shape;
    const near = typeof type === 'string' ? nearestName(type, names) : null;
    const hint = near ? `; did you mean ${near}?` : ` of ${names.join(', ')}`;
    const problem = near ? 'is not a type of step' : 'must be one';
    this.report(fieldPath(path, 'type'), type === undefined ? 'is required' : `${problem}${hint}`);
    return null;
  }

  /** Parses a part of a step by a schema. @returns null if a problem was reported */
  private parse(schema: z.ZodType, given: unknown, path: string): unknown {
    const parsed = parseWith(schema, given, 'field');
    if (parsed.ok) return parsed.value;
    for (const [field, messages] of Object.entries(parsed.errors)) {
      for (const message of messages) this.report(fieldPath(path, field), message);
    }
    return null;
  }

  /** Reads the parts that a step's shape only describes, such as its branches. @returns the step with its branches */
  private readInside(step: InputStep, path: string, level: number): InputStep {
    const inside = typeOf(step, this.table).fieldToRead?.(step);
    if (inside) this.parse(inside.shape, inside.value, fieldPath(path, inside.field));
    const read = (given: unknown, name: string) => this.readAll(given, branchPath(path, name), level + 1);
    return { ...step, ...mapBranches(step, read, this.table) };
  }

  /** Checks what steps name of the steps before them. A branch does not see the steps of its sibling branches. */
  checkReferences(steps: readonly InputStep[], list: string, before: Before): Before {
    const seen = new Map(before);
    for (const [place, step] of steps.entries()) {
      const path = stepPath(list, place);
      this.checkStep(step, path, seen);
      for (const name of [step.id, step.ref]) if (name !== undefined) seen.set(name, step.type);
      const inner = branchesOf(step, this.table).map((branch) =>
        this.checkReferences(branch.steps, branchPath(path, branch.name), seen),
      );
      for (const [name, type] of inner.flatMap((each) => [...each])) seen.set(name, type);
    }
    return seen;
  }

  private checkStep(step: InputStep, path: string, before: Before): void {
    // No further problem would be shown, and checking thousands of filters takes long.
    if (isFull(this.errors)) return;
    const { filters = [], received = false, before: named } = referencesOf(step, this.table);
    for (const problem of flowFilterProblems(filters, { steps: before, received })) {
      this.report(fieldPath(path, ['filters', ...problem.path].join('.')), problem.message);
    }
    if (!named || before.has(named.step)) return;
    this.report(fieldPath(path, named.field), `names step ${named.step}, which does not come before`);
  }
}

/**
 * Reads the steps of a request.
 * @returns the steps, and the problems by their paths, such as `steps[2].yes[0].duration`
 */
export function readSteps(
  given: unknown,
  table = stepTable,
): { steps: InputStep[]; errors: ValidationErrors } {
  const reader = new StepReader(table);
  const steps = Array.isArray(given) ? reader.readAll(given, 'steps', 1) : reader.refuse('steps', NO_ARRAY);
  if (Object.keys(reader.errors).length === 0) reader.checkReferences(steps, 'steps', new Map());
  return { steps, errors: reader.errors };
}
