import { EXPORT_FORMATS } from '../export.ts';

type ExportLinksProps = {
  /** The address of the list, with its filters and its order. */
  readonly url: string;
};

/** Links that download the whole list as a file. */
export function ExportLinks({ url }: ExportLinksProps) {
  const separator = url.includes('?') ? '&' : '?';
  return (
    <p>
      Export all as{' '}
      {EXPORT_FORMATS.map((format, index) => (
        <>
          {index > 0 && ' or '}
          <a href={`${url}${separator}format=${format}`} download>
            {format.toUpperCase()}
          </a>
        </>
      ))}
    </p>
  );
}
