// Prompts are tasks in the words of the user, with their arguments, and name only tools that exist.
import { describe, expect, it } from '@jest/globals';
import { catalogue } from '../../../src/features/mcp/catalogue.ts';
import { toolName } from '../../../src/features/mcp/operations.ts';
import { getPrompt, prompts } from '../../../src/features/mcp/prompts.ts';

const textOf = (name: string, args?: Record<string, string>) => {
  const [message] = getPrompt(name, args).messages;
  return message?.content.type === 'text' ? message.content.text : '';
};

describe('prompts', () => {
  it('are three', () => {
    expect(prompts.map(({ name }) => name)).toEqual([
      'draft_campaign',
      'why_not_delivered',
      'summarise_week',
    ]);
  });

  it('contain their arguments', () => {
    expect(textOf('draft_campaign', { goal: 'Sell tea' })).toMatch(/Its goal: Sell tea\n\nCall whoami/);
    const audience = textOf('draft_campaign', { goal: 'Sell tea', audience: 'the list VIP' });
    expect(audience).toContain('It is for: the list VIP');
    expect(textOf('why_not_delivered', { message: 'ada@example.com' })).toContain(': ada@example.com\n');
    expect(textOf('summarise_week')).toContain('last seven days');
  });

  it('name only tools that clients see in their list', () => {
    const known = new Set([...catalogue.map(toolName), 'whoami']);
    const texts = [
      textOf('draft_campaign', { goal: 'x', audience: 'y' }),
      textOf('why_not_delivered', { message: 'x' }),
      textOf('summarise_week'),
    ];
    const named = texts.flatMap((text) => text.match(/\b(?:whoami|[a-z]+_[a-z_]+)\b/g) ?? []);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
    expect(named.length).toBeGreaterThan(15);
  });

  it.each([
    ['an unknown name', 'send_everything', {}, 'there is no prompt send_everything'],
    ['a missing argument', 'draft_campaign', {}, 'goal is required'],
    ['an empty argument', 'draft_campaign', { goal: ' ' }, 'goal is required'],
    ['an unknown argument', 'summarise_week', { goal: 'x' }, 'summarise_week has no argument goal'],
    [
      'a long argument',
      'draft_campaign',
      { goal: 'x'.repeat(2_001) },
      'goal must have at most 2000 characters',
    ],
  ])('refuse %s', (_, name, args, message) => {
    expect(() => getPrompt(name, args)).toThrow(message);
  });
});
