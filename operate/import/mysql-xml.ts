// Reads what the client `mysql --xml` prints: one document for each statement. It has the columns'
// names, distinguishes NULL from a text, and needs nothing that a database's machine lacks.

import { xmlEntities } from '#core/contracts/xml-entities.ts';

export type XmlRow = Readonly<Record<string, string | null>>;

/** The file is not what the client prints; the message says where. */
export class NotMysqlXml extends Error {
  override readonly name = 'NotMysqlXml';
}

const resultset = /<resultset statement="([^"]*)"[^>]*>(.*?)<\/resultset>/gs;
const row = /<row>(.*?)<\/row>/gs;
const field = /<field name="([^"]*)"(?:\s+xsi:nil="true"\s*\/>|\s*\/>|>(.*?)<\/field>)/gs;

/** The rows of each table that a `SELECT * FROM <table>` has printed. @throws NotMysqlXml */
export function readMysqlXml(text: string): Map<string, XmlRow[]> {
  const tables = new Map<string, XmlRow[]>();
  for (const [, statement = '', content = ''] of text.matchAll(resultset)) {
    const [, name] = /^\s*SELECT \* FROM `?(\w+)`?\s*;?\s*$/i.exec(decoded(statement)) ?? [];
    if (name === undefined) continue;
    if (tables.has(name)) throw new NotMysqlXml(`it has the table ${name} more than once`);
    tables.set(name, rowsIn(content, name));
  }
  const opened = text.split('<resultset ').length;
  const closed = text.split('</resultset>').length;
  if (opened !== closed) throw new NotMysqlXml('it ends in the middle of a table');
  if (tables.size === 0) throw new NotMysqlXml('it has no table of Cyborg');
  return tables;
}

function rowsIn(content: string, table: string): XmlRow[] {
  const rows = [...content.matchAll(row)].map(([, fields = '']) => {
    const entries = [...fields.matchAll(field)].map(([whole, name = '', value]) => {
      const isNull = value === undefined && whole.includes('xsi:nil');
      return [decoded(name), isNull ? null : decoded(value ?? '')] as const;
    });
    return Object.fromEntries(entries);
  });
  if (content.split('<row>').length - 1 !== rows.length) {
    throw new NotMysqlXml(`table ${table} has a row without an end`);
  }
  return rows;
}

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return xmlEntities[name] ?? whole;
  });
}
