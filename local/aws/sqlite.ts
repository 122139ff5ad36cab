// A SQLite database with cached prepared statements. Synchronous: a statement takes microseconds.

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';

export type Row = Record<string, SQLOutputValue>;
type Values = Readonly<Record<string, string | number | null>>;

export class Sqlite {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Without a file the database is in memory. The directory of a file is created. */
  constructor(file: string | undefined, schema: string) {
    if (file !== undefined) mkdirSync(dirname(file), { recursive: true });
    this.#database = new DatabaseSync(file ?? ':memory:', { timeout: 5000 });
    this.#database.exec(schema);
  }

  /** Returns how many rows changed. Values are named: `:queue` is `values.queue`. */
  run(sql: string, values: Values = {}): number {
    return Number(this.#prepared(sql).run(values).changes);
  }

  all(sql: string, values: Values = {}): Row[] {
    return this.#prepared(sql).all(values);
  }

  get(sql: string, values: Values = {}): Row | undefined {
    return this.#prepared(sql).get(values);
  }

  transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
