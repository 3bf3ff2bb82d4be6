/** Reads steps as clients write them. It checks everything that needs no look into the database. */
import type { z } from 'zod';
import { isFull, type ValidationErrors } from '../../errors.ts';
import { nearestName } from '../../platform/input/nearest-name.ts';
import { parseWith } from '../../platform/input/validation.ts';
import { flowFilterProblems } from './filters.ts';
import { branchPath, fieldPath, stepPath } from './paths.ts';
import { fieldTimeShape, localTimeShape, stepShapes, type StepType, stepTypes } from './steps/shapes.ts';

/** Steps of a flow, those of branches included. */
export const MAX_STEPS = 200;
/** Levels of branches. The steps of the flow itself are level 1. */
export const MAX_LEVELS = 10;

type Shape<Type extends StepType> = z.output<(typeof stepShapes)[Type]>;
type Branching = 'condition' | 'wait_for_event' | 'split';

interface Branches {
  yes: InputStep[];
  no: InputStep[];
}

export type ContentInput = Shape<'email'> | Shape<'sms'>;

/** A step of a request. Its id is that of a step that the flow has; left out: a new step. */
export type InputStep =
  | Shape<Exclude<StepType, Branching>>
  | (Omit<Shape<'condition'>, keyof Branches> & Branches)
  | (Omit<Shape<'wait_for_event'>, keyof Branches> & Branches)
  | (Omit<Shape<'split'>, 'branches'> & { branches: { weight: number; steps: InputStep[] }[] });

/** The branches of a step, by the names that paths have for them. */
export function branchesOfInput(step: InputStep): { name: string; steps: InputStep[] }[] {
  switch (step.type) {
    case 'condition':
    case 'wait_for_event':
      return [
        { name: 'yes', steps: step.yes },
        { name: 'no', steps: step.no },
      ];
    case 'split':
      return step.branches.map(({ steps }, n) => ({ name: `branches.${n}.steps`, steps }));
    default:
      return [];
  }
}

/** All steps with their paths, each before those of its branches. */
export function inputsOf(steps: readonly InputStep[], list = 'steps'): { step: InputStep; path: string }[] {
  return steps.flatMap((step, place) => {
    const path = stepPath(list, place);
    const inner = branchesOfInput(step).flatMap((branch) =>
      inputsOf(branch.steps, branchPath(path, branch.name)),
    );
    return [{ step, path }, ...inner];
  });
}

const NO_ARRAY = 'must be an array of steps';

/** The steps that come before a place, by their ids. */
type Before = ReadonlyMap<number, StepType>;

class StepReader {
  readonly errors: ValidationErrors = {};
  private count = 0;
  private readonly ids = new Set<number>();

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
    const type = this.typeOf(given, path);
    if (!type) return null;
    const parsed = this.parse(stepShapes[type], given, path);
    const step = (parsed ?? { ...given }) as InputStep;
    this.readUntil(step, path);
    // What is wrong inside the branches is reported together with what is wrong with the step.
    this.readBranches(step, path, level);
    if (parsed === null) return null;
    if (step.id !== undefined && this.ids.has(step.id)) {
      this.report(fieldPath(path, 'id'), 'is the id of another step, too');
    }
    if (step.id !== undefined) this.ids.add(step.id);
    return step;
  }

  private typeOf(given: object, path: string): StepType | null {
    const type: unknown = 'type' in given ? given.type : undefined;
    if (typeof type === 'string' && (stepTypes as readonly string[]).includes(type)) return type as StepType;
    const near = typeof type === 'string' ? nearestName(type, stepTypes) : null;
    const hint = near ? `; did you mean ${near}?` : ` of ${stepTypes.join(', ')}`;
    const problem = near ? 'is not a type of step' : 'must be one';
    this.report(fieldPath(path, 'type'), type === undefined ? 'is required' : `${problem}${hint}`);
    return null;
  }

  /** Parses a part of a step by a schema. @returns null after a report */
  private parse(schema: z.ZodType, given: unknown, path: string): unknown {
    const parsed = parseWith(schema, given, 'field');
    if (parsed.ok) return parsed.value;
    for (const [field, messages] of Object.entries(parsed.errors)) {
      for (const message of messages) this.report(fieldPath(path, field), message);
    }
    return null;
  }

  private readUntil(step: InputStep, path: string): void {
    if (step.type !== 'wait' || typeof step.until !== 'object' || step.until === null) return;
    const shape = 'field' in step.until ? fieldTimeShape : localTimeShape;
    this.parse(shape, step.until, fieldPath(path, 'until'));
  }

  private readBranches(step: InputStep, path: string, level: number): void {
    const read = (given: unknown, name: string) => this.readAll(given, branchPath(path, name), level + 1);
    if (step.type === 'condition' || step.type === 'wait_for_event') {
      Object.assign(step, { yes: read(step.yes, 'yes'), no: read(step.no, 'no') });
    } else if (step.type === 'split' && Array.isArray(step.branches)) {
      for (const [n, branch] of step.branches.entries()) {
        if (typeof branch !== 'object' || branch === null) continue;
        Object.assign(branch, { steps: read(branch.steps, `branches.${n}.steps`) });
      }
    }
  }

  /** Checks what steps say of steps before them. A branch does not see the steps of the branches beside it. */
  checkReferences(steps: readonly InputStep[], list: string, before: Before): Before {
    const seen = new Map(before);
    for (const [place, step] of steps.entries()) {
      const path = stepPath(list, place);
      this.checkStep(step, path, seen);
      if (step.id !== undefined) seen.set(step.id, step.type);
      const inner = branchesOfInput(step).map((branch) =>
        this.checkReferences(branch.steps, branchPath(path, branch.name), seen),
      );
      for (const [id, type] of inner.flatMap((each) => [...each])) seen.set(id, type);
    }
    return seen;
  }

  private checkStep(step: InputStep, path: string, before: Before): void {
    // Nothing more can be reported, and thousands of filters would take long.
    if (isFull(this.errors)) return;
    if (step.type !== 'condition' && step.type !== 'wait_for_event') return;
    const received = step.type === 'wait_for_event';
    for (const problem of flowFilterProblems(step.filters ?? [], { steps: before, received })) {
      this.report(fieldPath(path, ['filters', ...problem.path].join('.')), problem.message);
    }
    if (step.type !== 'wait_for_event' || typeof step.include_since !== 'object') return;
    const since = step.include_since.step;
    if (before.has(since)) return;
    this.report(fieldPath(path, 'include_since.step'), `names step ${since}, which does not come before`);
  }
}

/**
 * Reads the steps of a request.
 * @returns the steps, and what is wrong by its path, such as `steps[2].yes[0].duration`
 */
export function readSteps(given: unknown): { steps: InputStep[]; errors: ValidationErrors } {
  const reader = new StepReader();
  const steps = Array.isArray(given) ? reader.readAll(given, 'steps', 1) : reader.refuse('steps', NO_ARRAY);
  if (Object.keys(reader.errors).length === 0) reader.checkReferences(steps, 'steps', new Map());
  return { steps, errors: reader.errors };
}
