// The schedule of attempts shares slots fairly between endpoints, and gives slow endpoints only a few.
import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  AttemptSchedule,
  FIRST_CLAIM,
  type ClaimedDelivery,
} from '../../../src/features/webhooks/loop/schedule.ts';

let schedule: AttemptSchedule;
let now: number;
let nextId: number;

beforeEach(() => {
  schedule = new AttemptSchedule();
  now = 1_000;
  nextId = 1;
});

function claimed(webhookId: number, count: number): ClaimedDelivery[] {
  const endpoint = { id: webhookId, url: 'https://receiver.test/', enabled: true, generation: 1, keys: [] };
  return Array.from({ length: count }, () => {
    const due = {
      deliveryId: nextId++,
      createdAt: '',
      webhookId,
      generation: 1,
      attempt: 1,
      eventId: '',
      type: 'email.sent',
      occurredAt: new Date(0),
      data: '{}',
    };
    return { due, endpoint, claimedAt: now };
  });
}

/** Starts every attempt that may begin. */
function start(): ClaimedDelivery[] {
  const started: ClaimedDelivery[] = [];
  for (let each = schedule.next(now, []); each; each = schedule.next(now, [])) started.push(each);
  return started;
}

function endAll(deliveries: ClaimedDelivery[], durationMs: number, timedOut = false): void {
  for (const delivery of deliveries) schedule.end(delivery, { durationMs, timedOut }, now);
}

/** An endpoint that has responded. */
function prove(webhookId: number): void {
  schedule.add(claimed(webhookId, 1));
  endAll(start(), 5);
}

/** An endpoint at which `count` attempts in a row timed out. */
function timeOut(webhookId: number, count: number): void {
  for (let n = 0; n < count; n += 1) {
    schedule.add(claimed(webhookId, 1));
    const started = start();
    now += 10_000;
    endAll(started, 10_000, true);
  }
}

const by = (deliveries: ClaimedDelivery[], webhookId: number) =>
  deliveries.filter((delivery) => delivery.endpoint.id === webhookId);

describe('the schedule of attempts', () => {
  it('takes endpoints in turn, however long the queue of one is', () => {
    prove(1);
    prove(2);
    schedule.add([...claimed(1, 500), ...claimed(2, 3)]);
    const order = start().map((delivery) => delivery.endpoint.id);
    expect(order.slice(0, 6)).toEqual([1, 2, 1, 2, 1, 2]);
  });

  it('makes at most 16 attempts at once at one endpoint, and another when one ends', () => {
    prove(1);
    schedule.add(claimed(1, 100));
    const running = start();
    expect(running).toHaveLength(16);
    endAll(running.slice(0, 3), 5);
    expect(start()).toHaveLength(3);
  });

  it('makes one attempt at a time at an endpoint that has not answered yet', () => {
    schedule.add(claimed(1, 100));
    expect(start()).toHaveLength(1);
  });

  it('makes 2 attempts at once after 5 time-outs in a row, and 16 again once the endpoint answers', () => {
    prove(1);
    timeOut(1, 4);
    schedule.add(claimed(1, 50));
    const many = start();
    expect(many).toHaveLength(16);
    endAll(many, 10_000, true);
    schedule.drain();
    schedule.add(claimed(1, 50));
    const two = start();
    expect(two).toHaveLength(2);
    endAll(two, 10);
    schedule.add(claimed(1, 50));
    expect(start().length).toBe(16);
  });

  it('gives all slow endpoints together a tenth of the slots', () => {
    for (let id = 1; id <= 100; id += 1) timeOut(id, 5);
    for (let id = 201; id <= 260; id += 1) prove(id);
    for (let id = 1; id <= 100; id += 1) schedule.add(claimed(id, 10));
    for (let id = 201; id <= 260; id += 1) schedule.add(claimed(id, 16));
    const running = start();
    const slow = running.filter((delivery) => delivery.endpoint.id <= 100);
    expect(slow).toHaveLength(51);
    expect(running.length - slow.length).toBe(512);
  });

  it('notices that an endpoint is slow while its attempts are running', () => {
    for (let id = 1; id <= 512; id += 1) schedule.add(claimed(id, 8));
    expect(start()).toHaveLength(512);
    prove(600);
    schedule.add(claimed(600, 10));
    expect(by(start(), 600)).toHaveLength(0);
    now += 600;
    schedule.tick(now);
    schedule.drain();
    schedule.add(claimed(600, 10));
    expect(by(start(), 600).length).toBeGreaterThan(0);
    expect(schedule.slowEndpoints(1_000)).toHaveLength(512);
  });

  it('returns claims that have waited for a second, so that their endpoint is read again', () => {
    schedule.add(claimed(1, 3));
    now += 1_001;
    const stale: ClaimedDelivery[] = [];
    expect(schedule.next(now, stale)).toBeNull();
    expect(stale).toHaveLength(3);
    schedule.add(claimed(1, 20));
    expect(start()).toHaveLength(1);
    now += 1_001;
    expect(schedule.tick(now)).toHaveLength(19);
    expect(schedule.size).toBe(1);
  });
});

describe('the quota of a claim', () => {
  it('is zero for an endpoint with enough claims, and small for one that has not answered yet', () => {
    schedule.add(claimed(1, FIRST_CLAIM));
    expect(schedule.quotas()).toEqual(new Map([[1, 0]]));
    endAll(start(), 5);
    expect(schedule.quotas()).toEqual(new Map([[1, 25]]));
    schedule.drain();
    schedule.add(claimed(2, 1));
    schedule.drain();
    expect(schedule.quotas()).toEqual(new Map([[1, 32]]));
  });

  it('grows with the rate of the endpoint', () => {
    prove(1);
    for (let n = 0; n < 500; n += 1) prove(1);
    expect(schedule.quotas().get(1)).toBe(501);
    schedule.tick(now);
    schedule.tick(now);
    expect(schedule.quotas().get(1)).toBe(32);
  });

  it('is no more than the concurrent attempts of an endpoint that times out', () => {
    timeOut(1, 5);
    expect(schedule.quotas()).toEqual(new Map([[1, 2]]));
    schedule.add(claimed(1, 2));
    start();
    expect(schedule.quotas()).toEqual(new Map([[1, 0]]));
  });
});
