// A published leaderboard: its values alone. Their counts are not known, so nothing is computed from them.

import type { PublishedBoard } from './content';
import { Downloads } from './downloads';
import { Link, usePlace } from './navigation';
import { sorted, VirtualTable, type Column } from './virtual';

type Row = PublishedBoard['entries'][number];

export function PublishedView({ board }: { board: PublishedBoard }) {
  const { address, go } = usePlace();
  const columns: Column<Row>[] = [
    { key: 'name', head: 'Model', cell: (row) => row.name, by: (row) => row.name, heads: true },
    ...board.published.map((metric, i): Column<Row> => ({
      key: metric, head: metric, cell: (row) => row.values[i]?.toFixed(2) ?? '–', by: (row) => row.values[i], numeric: true,
    })),
  ];
  const sort = { key: address.sort || columns[columns.length - 1].key, descending: address.descending };
  const rows = sorted(board.entries, columns.find(({ key }) => key === sort.key), sort.descending);
  return (
    <section aria-labelledby="board-caption">
      <p class="note">Published scores in percent. Their counts are not known, so no interval is given and nothing is compared.</p>
      <VirtualTable id="board" caption={board.title} columns={columns} rows={rows} keyOf={(row) => row.name} sort={sort}
        onSort={({ key }) => go({ sort: key, descending: sort.key === key ? !sort.descending : key !== 'name' }, true)} />
      <Downloads sheet={() => ({
        title: board.title, columns: ['model', ...board.published], rows: rows.map((row) => [row.name, ...row.values]),
      })} />
      <p><Link change={{ board: '' }}>All benchmarks</Link></p>
    </section>
  );
}
