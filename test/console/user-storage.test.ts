// What a browser keeps for a user is theirs alone, and goes when they sign out.
import { beforeEach, expect, it } from '@jest/globals';
import { forgetUsers, keepForUser, userKey } from '../../console/src/shell/user-storage.ts';
import { MemoryStorage } from './drafts/stage.ts';

class FullStorage extends MemoryStorage {
  override setItem(): never {
    throw new DOMException('full', 'QuotaExceededError');
  }
}

let storage: MemoryStorage;
beforeEach(() => {
  storage = new MemoryStorage();
});

it('keeps an entry for one user only', () => {
  expect(keepForUser(userKey(1, 'steps'), 'copied', storage)).toBe(true);
  expect(storage.getItem(userKey(1, 'steps'))).toBe('copied');
  expect(storage.getItem(userKey(2, 'steps'))).toBeNull();
});

it('says that an entry is not kept if the storage is full', () => {
  expect(keepForUser(userKey(1, 'steps'), 'copied', new FullStorage())).toBe(false);
});

it('forgets the entries of users at the end, and nothing else', () => {
  storage.setItem('carillon.theme', 'dark');
  storage.setItem('draft:1:2', '{}');
  for (const user of [1, 2]) keepForUser(userKey(user, 'steps'), 'copied', storage);
  forgetUsers(storage);
  expect(Object.keys(storage)).toEqual(['carillon.theme', 'draft:1:2']);
});
