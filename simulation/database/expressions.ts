// The part of DynamoDB's expressions that the stores use: conditions, updates, key conditions.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Expressions.OperatorsAndFunctions.html

import { isDeepStrictEqual } from 'node:util';

export type Item = Record<string, unknown>;

/** The values and names of the placeholders of an expression. */
export interface Placeholders {
  readonly names: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, unknown>>;
}

type Condition = (item: Item, names: Placeholders) => boolean;
type Operand = (item: Item, names: Placeholders) => unknown;
type Update = (item: Item, before: Item, names: Placeholders) => void;

const conditions = new Map<string, Condition>();
const updates = new Map<string, Update>();

export function holds(condition: string, item: Item, names: Placeholders): boolean {
  let compiled = conditions.get(condition);
  if (!compiled) {
    const parser = new Parser(condition);
    compiled = parser.either();
    parser.end();
    conditions.set(condition, compiled);
  }
  return compiled(item, names);
}

/** Returns the updated item and leaves the given one unchanged. */
export function updated(update: string, before: Item, names: Placeholders): Item {
  let compiled = updates.get(update);
  if (!compiled) {
    compiled = new Parser(update).update();
    updates.set(update, compiled);
  }
  const after = JSON.parse(JSON.stringify(before)) as Item;
  compiled(after, before, names);
  return after;
}

class Parser {
  readonly #text: string;
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = text.match(/<=|>=|<>|[=<>(),+]|[#:]?[A-Za-z_][\w.#]*/g) ?? [];
  }

  either(): Condition {
    const parts = [this.#both()];
    while (this.#takes('OR')) parts.push(this.#both());
    return (item, names) => parts.some((part) => part(item, names));
  }

  update(): Update {
    const steps: Update[] = [];
    while (this.#at < this.#tokens.length) {
      const section = this.#next();
      do steps.push(this.#step(section));
      while (this.#takes(','));
    }
    return (item, before, names) => {
      for (const step of steps) step(item, before, names);
    };
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw this.#fault();
  }

  #both(): Condition {
    const parts = [this.#one()];
    while (this.#takes('AND')) parts.push(this.#one());
    return (item, names) => parts.every((part) => part(item, names));
  }

  #one(): Condition {
    if (this.#takes('(')) {
      const inner = this.either();
      this.#expect(')');
      return inner;
    }
    const left = this.#next();
    if (this.#takes('(')) return this.#functionCall(left);
    const operator = this.#next();
    const [a, b] = [operandOf(left), operandOf(this.#next())];
    return (item, names) => compare(operator, a(item, names), b(item, names));
  }

  #functionCall(name: string): Condition {
    const subject = operandOf(this.#next());
    if (name === 'begins_with') {
      this.#expect(',');
      const prefix = operandOf(this.#next());
      this.#expect(')');
      return (item, names) => String(subject(item, names)).startsWith(String(prefix(item, names)));
    }
    this.#expect(')');
    if (name === 'attribute_exists') return (item, names) => subject(item, names) !== undefined;
    if (name === 'attribute_not_exists') return (item, names) => subject(item, names) === undefined;
    throw this.#fault();
  }

  #step(section: string): Update {
    const path = this.#next();
    switch (section) {
      case 'SET': {
        this.#expect('=');
        const value = this.#setValue();
        return (item, before, names) => put(item, partsOf(path, names), value(before, names));
      }
      case 'REMOVE':
        return (item, _before, names) => remove(item, partsOf(path, names));
      case 'ADD': {
        const amount = operandOf(this.#next());
        return (item, before, names) => {
          const parts = partsOf(path, names);
          const sum = Number(at(before, parts) ?? 0) + Number(amount(before, names));
          put(item, parts, sum);
        };
      }
      default:
        throw this.#fault();
    }
  }

  #setValue(): Operand {
    const token = this.#next();
    if (token !== 'if_not_exists') {
      const first = operandOf(token);
      if (!this.#takes('+')) return first;
      const second = operandOf(this.#next());
      return (item, names) => Number(first(item, names)) + Number(second(item, names));
    }
    this.#expect('(');
    const stored = operandOf(this.#next());
    this.#expect(',');
    const otherwise = operandOf(this.#next());
    this.#expect(')');
    return (item, names) => stored(item, names) ?? otherwise(item, names);
  }

  #next(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw this.#fault();
    return token;
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (!this.#takes(token)) throw this.#fault();
  }

  #fault(): Error {
    return new Error(`Cannot parse expression near token ${this.#at}: ${this.#text}`);
  }
}

function operandOf(token: string): Operand {
  if (!token.startsWith(':')) return (item, names) => at(item, partsOf(token, names));
  return (_item, { values }) => {
    // Look the placeholder up by name, so that a missing one is an error and not undefined.
    if (!Object.hasOwn(values, token)) throw new Error(`Missing value for ${token}.`);
    return values[token];
  };
}

function partsOf(path: string, { names }: Placeholders): string[] {
  return path.split('.').map((part) => {
    const name = part.startsWith('#') ? names[part] : part;
    if (name === undefined) throw new Error(`Missing name for ${part}.`);
    return name;
  });
}

function at(item: Item, parts: readonly string[]): unknown {
  return parts.reduce<unknown>((value, part) => (value as Item | undefined)?.[part], item);
}

function parentOf(item: Item, parts: readonly string[]): Item {
  const parent = at(item, parts.slice(0, -1));
  if (parent !== null && typeof parent === 'object') return parent as Item;
  throw Object.assign(new Error('The document path is invalid for update.'), {
    name: 'ValidationException',
  });
}

function put(item: Item, parts: readonly string[], value: unknown): void {
  parentOf(item, parts)[parts.at(-1) as string] = value;
}

function remove(item: Item, parts: readonly string[]): void {
  delete parentOf(item, parts)[parts.at(-1) as string];
}

function compare(operator: string, a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return false;
  if (operator === '=') return isDeepStrictEqual(a, b);
  if (operator === '<>') return !isDeepStrictEqual(a, b);
  if (typeof a !== typeof b) return false;
  const [left, right] = [a as string | number, b as string | number];
  switch (operator) {
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
    default:
      throw new Error(`Unknown operator: ${operator}`);
  }
}
