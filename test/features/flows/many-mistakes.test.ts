// A flow with thousands of mistakes is read no further than the response shows.
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { readSteps } from '../../../src/features/flows/read-steps.ts';

describe('a flow with thousands of mistakes', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is not searched for more of them than the response shows', () => {
    const filters = Array.from({ length: 45 }, () => ({ name: 'xyzxyzxyzxyz', predicate: 'eq', value: 1 }));
    const steps = Array.from({ length: 100 }, () => ({ type: 'condition', filters, yes: [], no: [] }));
    // Each unknown name is compared with the known ones by their sorted letters.
    const sorts = jest.spyOn(Array.prototype, 'sort');
    const { errors } = readSteps(steps);
    const count = sorts.mock.calls.length;
    jest.restoreAllMocks();
    expect(errors['steps[0].filters[0].name']).toEqual(['is not a known name']);
    expect(count).toBeLessThan(20_000);
  });
});
