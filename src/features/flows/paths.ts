/** The names of steps and their fields in errors: `steps[2].yes[0].duration`. */
import { branchesOf, type Step } from './steps/index.ts';

/** The path of a step in its list. @param list such as `steps` or `steps[2].yes` */
export const stepPath = (list: string, place: number) => `${list}[${place}]`;

/** The path of a branch's list. @param name such as `yes` or `branches.0.steps` */
export const branchPath = (step: string, name: string) => fieldPath(step, name);

/** The path of a step's field. @param field dotted, such as `filters.0.value` */
export function fieldPath(step: string, field: string): string {
  return `${step}.${field.replaceAll(/\.(\d+)(?=\.|$)/g, '[$1]')}`;
}

/** The paths of all steps, by their ids. */
export function pathsOf(steps: readonly Step[], list = 'steps'): Map<number, string> {
  const paths = new Map<number, string>();
  for (const [place, step] of steps.entries()) {
    const path = stepPath(list, place);
    paths.set(step.id, path);
    for (const branch of branchesOf(step)) {
      for (const [id, inner] of pathsOf(branch.steps, branchPath(path, branch.name))) paths.set(id, inner);
    }
  }
  return paths;
}
