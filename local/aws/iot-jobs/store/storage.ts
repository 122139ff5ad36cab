// Jobs, executions and events in SQLite. Times are milliseconds since 1970. The row number of an
// execution is its place in the queue of its thing.

import { type Row, Sqlite } from '#local/aws/sqlite.ts';
import { deadlineOf, type Execution, type ExecutionStatus } from './lifecycle.ts';

// WAL with synchronous=NORMAL: a commit survives the death of the process.
const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    job TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS executions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    thing TEXT NOT NULL,
    status TEXT NOT NULL,
    deadline_at INTEGER,
    execution TEXT NOT NULL,
    UNIQUE (job_id, thing)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS executions_by_thing ON executions (thing, status);
  CREATE INDEX IF NOT EXISTS executions_by_deadline ON executions (deadline_at)
    WHERE deadline_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    payload TEXT NOT NULL
  ) STRICT;
`;

export interface Job {
  readonly id: string;
  readonly status: 'IN_PROGRESS' | 'COMPLETED' | 'CANCELED';
  readonly document: string;
  readonly targets: readonly string[];
  readonly targetSelection: string;
  readonly description?: string | undefined;
  readonly presignedUrlConfig?: object | undefined;
  readonly timeoutConfig?: { readonly inProgressTimeoutInMinutes?: number | undefined } | undefined;
  readonly isForceCanceled?: boolean;
  readonly reasonCode?: string | undefined;
  readonly comment?: string | undefined;
  readonly createdAtMs: number;
  readonly lastUpdatedAtMs: number;
  readonly completedAtMs?: number;
}

interface StoredEvent {
  readonly number: number;
  readonly topic: string;
  readonly payload: string;
}

const isPending = `status IN ('QUEUED', 'IN_PROGRESS')`;

export class JobStorage {
  readonly #sqlite: Sqlite;
  /** Things with changed executions since the last call of `takeTouched`. */
  readonly #touched = new Set<string>();

  constructor(file: string | undefined) {
    this.#sqlite = new Sqlite(file, schema);
  }

  close(): void {
    this.#sqlite.close();
  }

  /** Commits all writes of the work, or none if it throws. */
  transaction<T>(work: () => T): T {
    const results: T[] = [];
    this.#sqlite.transaction(() => results.push(work()));
    return results[0] as T;
  }

  findJob(id: string): Job | undefined {
    const row = this.#sqlite.get('SELECT job FROM jobs WHERE id = :id', { id });
    return row && (JSON.parse(String(row.job)) as Job);
  }

  saveJob(job: Job): void {
    this.#sqlite.run(
      `INSERT INTO jobs VALUES (:id, :status, :job)
         ON CONFLICT (id) DO UPDATE SET status = :status, job = :job`,
      { id: job.id, status: job.status, job: JSON.stringify(job) },
    );
  }

  /** Deletes the job and its executions. */
  deleteJob(id: string): void {
    for (const { thing } of this.executionsOfJob(id)) this.#touched.add(thing);
    this.#sqlite.run('DELETE FROM jobs WHERE id = :id', { id });
  }

  findExecution(jobId: string, thing: string): Execution | undefined {
    return this.#executions('job_id = :jobId AND thing = :thing', { jobId, thing })[0];
  }

  executionsOfJob(jobId: string): Execution[] {
    return this.#executions('job_id = :jobId ORDER BY number', { jobId });
  }

  /** Newest first. */
  executionsOfThing(thing: string): Execution[] {
    return this.#executions('thing = :thing ORDER BY number DESC', { thing });
  }

  /** Executions in progress first, then queued ones in the order in which they were queued. */
  pendingOf(thing: string): Execution[] {
    return this.#executions(
      `thing = :thing AND ${isPending} ORDER BY status = 'IN_PROGRESS' DESC, number`,
      { thing },
    );
  }

  thingsWithPending(): string[] {
    const rows = this.#sqlite.all(`SELECT DISTINCT thing FROM executions WHERE ${isPending}`);
    return rows.map((row) => String(row.thing));
  }

  overdue(nowMs: number): Execution[] {
    return this.#executions('deadline_at <= :nowMs ORDER BY deadline_at, number', { nowMs });
  }

  saveExecution(execution: Execution): void {
    this.#touched.add(execution.thing);
    this.#sqlite.run(
      `INSERT INTO executions (job_id, thing, status, deadline_at, execution)
         VALUES (:jobId, :thing, :status, :deadline, :execution)
         ON CONFLICT (job_id, thing) DO UPDATE
           SET status = :status, deadline_at = :deadline, execution = :execution`,
      {
        jobId: execution.jobId,
        thing: execution.thing,
        status: execution.status,
        deadline: deadlineOf(execution) ?? null,
        execution: JSON.stringify(execution),
      },
    );
  }

  takeTouched(): string[] {
    const things = [...this.#touched];
    this.#touched.clear();
    return things;
  }

  countByStatus(jobId: string): Map<ExecutionStatus, number> {
    const rows = this.#sqlite.all(
      'SELECT status, COUNT(*) AS count FROM executions WHERE job_id = :jobId GROUP BY status',
      { jobId },
    );
    return new Map(rows.map((row) => [row.status as ExecutionStatus, Number(row.count)]));
  }

  addEvent(topic: string, payload: string): void {
    this.#sqlite.run('INSERT INTO events (topic, payload) VALUES (:topic, :payload)', {
      topic,
      payload,
    });
  }

  oldestEvents(countMax: number): StoredEvent[] {
    const rows = this.#sqlite.all('SELECT * FROM events ORDER BY number LIMIT :countMax', {
      countMax,
    });
    return rows.map((row) => ({
      number: Number(row.number),
      topic: String(row.topic),
      payload: String(row.payload),
    }));
  }

  deleteEvent(number: number): void {
    this.#sqlite.run('DELETE FROM events WHERE number = :number', { number });
  }

  #executions(condition: string, values: Readonly<Record<string, string | number>>): Execution[] {
    const rows: Row[] = this.#sqlite.all(
      `SELECT execution FROM executions WHERE ${condition}`,
      values,
    );
    return rows.map((row) => JSON.parse(String(row.execution)) as Execution);
  }
}
