// A bulk action of the console is about exactly the contacts that the list shows, or that are ticked.
import { describe, expect, it } from '@jest/globals';
import { bulkFilterOf } from '../../console/src/pages/contacts/bulk-action-text.ts';

describe('the filter of a bulk action', () => {
  it('selects the ticked contacts, whatever the list is filtered by', () => {
    expect(bulkFilterOf({ source: 'fair' }, [3, 5])).toEqual({
      filters: [{ name: 'id', predicate: 'in', value: [3, 5] }],
    });
  });

  it('has every filter of the list, with numbers and booleans as the API takes them', () => {
    const filter = { list_id: '7', segment_id: '8', subscribed: 'false', source: 'fair', email: 'a@b.co' };
    expect(bulkFilterOf(filter, [])).toEqual({
      list_id: 7,
      segment_id: 8,
      subscribed: false,
      source: 'fair',
      email: 'a@b.co',
    });
    expect(bulkFilterOf({ subscribed: 'true' }, [])).toEqual({ subscribed: true });
  });

  it('says that it means everybody only without any filter', () => {
    expect(bulkFilterOf({}, [])).toEqual({ all: true });
  });

  it('leaves it to the API to refuse what is no boolean', () => {
    expect(bulkFilterOf({ subscribed: 'maybe' }, [])).toEqual({ subscribed: 'maybe' });
  });
});
