// The options of a verb, in one line each.

import type { Option } from '#operate/ops/verb.ts';

type Text = Option & { readonly type: 'string' };

export function optionOf(value: string, help: string): Text {
  return { type: 'string', value, help };
}

export function required(value: string, help: string): Text {
  return { ...optionOf(value, help), isRequired: true };
}

export function repeated(value: string, help: string): Text {
  return { ...optionOf(value, `${help}; repeatable`), isRepeated: true };
}

/** A project by name or id, of which the verb reads the id. */
export function projectOption(option: Text): Text {
  return { ...option, isProject: true };
}

/** Takes the word for a project as an id: what is stored may name a project that is gone. */
export const storedId = { id: flag('the project is an id as it is stored, and not looked up') };

export function flag(help: string): Option {
  return { type: 'boolean', help };
}
