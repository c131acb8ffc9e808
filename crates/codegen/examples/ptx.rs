//! Prints the PTX of a kernel in a file of IR: `ptx FILE [RANK] [SM] [llvm]`.
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("a file");
    let mut module = ir::parse::parse_module(&text).expect("IR");
    transform::optimize(&mut module);
    let kernel = module.kernel().expect("a kernel");
    let rank = args.get(2).map_or(1, |n| n.parse().expect("a rank"));
    let sm = args.get(3).map_or(90, |n| n.parse().expect("a capability"));
    let options = codegen::nvptx::PtxOptions { rank, sm, contiguous: true, aligned: true, ..Default::default() };
    if args.len() > 4 {
        println!("{}", codegen::nvptx::llvm_text(&module, kernel, &options, None, args[4] == "llvm").expect("LLVM"));
    } else {
        println!("{}", codegen::nvptx::compile(&module, kernel, &options, None).expect("PTX").text);
    }
}
