/**
 * How long a run of a suite may take, in seconds on two cores. A suite that exceeds its budget by a third is reported.
 */
export const budgets = {
  test: { suite: 480, file: 10 },
  'test:system': { suite: 540, file: 90 },
};

/** The npm script that runs a suite. */
export type Suite = keyof typeof budgets;

export interface FileCost {
  /** The path from the repository's root. */
  name: string;
  seconds: number;
}

const rounded = (seconds: number) => `${Math.round(seconds)} s`;

/** Returns a line for each file over its limit, the slowest first, and one for a suite far over its budget. */
export function costLines(suite: Suite, wholeSeconds: number, files: readonly FileCost[]): string[] {
  const budget = budgets[suite];
  const slow = files
    .filter(({ seconds }) => seconds > budget.file)
    .sort((one, other) => other.seconds - one.seconds)
    .map(({ name, seconds }) => `  ${name}: ${rounded(seconds)}`);
  const title = `npm run ${suite}: files over ${budget.file} s`;
  return [
    ...(slow.length > 0 ? [title, ...slow] : []),
    ...(wholeSeconds > (budget.suite * 4) / 3
      ? [`npm run ${suite} took ${rounded(wholeSeconds)}; its budget is ${budget.suite} s`]
      : []),
  ];
}
