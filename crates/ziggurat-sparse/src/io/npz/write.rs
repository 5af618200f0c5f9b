//! Writing a matrix to an archive.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use crate::CsrRef;
use crate::io::npy;

/// Writes a matrix as `csr`.
pub(in crate::io) fn write(out: &mut impl Write, a: CsrRef<'_, f64>) -> io::Result<()> {
    let mut archive = ZipArchiveWriter::new(out);
    // scipy has one type for both arrays of indices.
    let wide = i32::try_from(a.nnz().max(a.cols()).max(a.rows())).is_err();
    let indices = if wide { "<i8" } else { "<i4" };
    let push = move |out: &mut dyn Write, index: usize| {
        if wide {
            out.write_all(&(index as i64).to_le_bytes())
        } else {
            out.write_all(&(index as i32).to_le_bytes())
        }
    };
    member(&mut archive, "indices", indices, &[a.nnz()], |out| {
        a.columns().iter().try_for_each(|&column| push(out, column as usize))
    })?;
    member(&mut archive, "indptr", indices, &[a.rows() + 1], |out| {
        a.row_ptr().iter().try_for_each(|&pointer| push(out, pointer))
    })?;
    member(&mut archive, "format", "|S3", &[], |out| out.write_all(b"csr"))?;
    member(&mut archive, "shape", "<i8", &[2], |out| {
        [a.rows(), a.cols()].iter().try_for_each(|&extent| out.write_all(&(extent as i64).to_le_bytes()))
    })?;
    member(&mut archive, "data", "<f8", &[a.nnz()], |mut out| npy::write_values(&mut out, a.values()))?;
    archive.finish().map_err(io::Error::other)?;
    Ok(())
}

/// Writes one array.
pub(super) fn member<W: Write>(
    archive: &mut ZipArchiveWriter<W>,
    name: &str,
    element: &str,
    shape: &[usize],
    data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = format!("{name}.npy");
    let file = archive.new_file(&path).compression_method(CompressionMethod::DEFLATE).start();
    let (mut entry, config) = file.map_err(io::Error::other)?;
    let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
    {
        let mut buffered = io::BufWriter::with_capacity(1 << 16, &mut writer);
        npy::write_header(&mut buffered, element, shape, false)?;
        data(&mut buffered)?;
        buffered.flush()?;
    }
    let (encoder, descriptor) = writer.finish().map_err(io::Error::other)?;
    encoder.finish()?;
    entry.finish(descriptor).map_err(io::Error::other)?;
    Ok(())
}
